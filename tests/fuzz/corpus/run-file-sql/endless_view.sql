DROP TABLE log; CREATE VIEW log AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS time_ns, 'info' AS level, 'x' AS text FROM n;
