DROP TABLE log; CREATE TABLE log(id INTEGER PRIMARY KEY, time_ns INTEGER, level TEXT, text TEXT AS (hex(zeroblob(400000000)))); INSERT INTO log(id, time_ns, level) VALUES (1, 1, 'a');
