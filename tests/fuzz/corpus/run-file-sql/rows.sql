INSERT OR REPLACE INTO meta VALUES ('kind','run'),('finished','yes'),('created','2026-01-01T00:00:00Z');
INSERT INTO traces VALUES (1,'run','step','measured','none','cpu','["a"]');
INSERT INTO events VALUES (1,0,0,10,20,1),(1,0,1,20,30,3);
INSERT INTO step_summaries VALUES (1,0,0,30,2.5,NULL,0.1);
INSERT INTO peaks VALUES (1,1,0,NULL,100),(2,1,0,'activation',40);
INSERT INTO memory_samples VALUES (1,5,'gpu0','process',9);
INSERT INTO cost_samples VALUES (1,'kernel add fp32 rows=2 inputs=3 @ Test',12,'none');
INSERT INTO evaluations VALUES (1,3,2.25); INSERT INTO checkpoints VALUES (1,3,'folder','digest'); INSERT INTO log VALUES (1,7,'info','text');