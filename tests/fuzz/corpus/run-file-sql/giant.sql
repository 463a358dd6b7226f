INSERT INTO log VALUES (1, 2, 'info', zeroblob(900000)); UPDATE meta SET value = zeroblob(10);
