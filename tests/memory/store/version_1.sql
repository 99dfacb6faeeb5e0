-- All of a SQLite store as the first schema (0001) kept it; never to be made again.
BEGIN TRANSACTION;
CREATE TABLE memory_demonstration (
	id VARCHAR NOT NULL, 
	event INTEGER NOT NULL, 
	lesson INTEGER NOT NULL, 
	scope INTEGER NOT NULL, 
	agent VARCHAR(16) NOT NULL, 
	origin VARCHAR(16) NOT NULL, 
	marks INTEGER NOT NULL, 
	changed INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(event) REFERENCES memory_event (id), 
	FOREIGN KEY(lesson) REFERENCES memory_lesson (id), 
	FOREIGN KEY(scope) REFERENCES memory_scope (id)
);
INSERT INTO "memory_demonstration" VALUES('example.org/repo/a/test',2,1,1,'test','validated',0,2);
INSERT INTO "memory_demonstration" VALUES('example.org/repo/a/pair',3,1,1,'patch','validated',0,3);
INSERT INTO "memory_demonstration" VALUES('example.org/repo/a/tuple',4,1,1,'patch','validated',0,4);
INSERT INTO "memory_demonstration" VALUES('example.org/repo/b/test',7,6,1,'test','validated',0,7);
INSERT INTO "memory_demonstration" VALUES('example.org/repo/b/pair',8,6,1,'patch','validated',0,8);
INSERT INTO "memory_demonstration" VALUES('example.org/repo/b/tuple',9,6,1,'patch','validated',0,9);
CREATE TABLE memory_event (
	id INTEGER NOT NULL, 
	uid VARCHAR(32) NOT NULL, 
	scope INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	at VARCHAR(32) NOT NULL, 
	actor VARCHAR NOT NULL, 
	lesson INTEGER, 
	held BOOLEAN NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (uid), 
	FOREIGN KEY(scope) REFERENCES memory_scope (id)
);
INSERT INTO "memory_event" VALUES(1,'18e9f39f1b9be8e6851ac1dfa197a455',1,'learned','2026-01-02T03:05:05.000000+00:00','somebody',NULL,0,'{"commit":"c0ffee","issue":{"author":"somebody","created_at":"2026-01-02T03:04:05.000000+00:00","id":"issue-a","text":"Title of a\n\nThe text of a: na\u00efve \u0000 and \ud800.","trusted":true},"key":"run:a","models":["provider:model"],"outcome":"repaired","patch":"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-wrong a\n+right a\n","source":"run"}');
INSERT INTO "memory_event" VALUES(2,'18e9f39f1b9d1fa2525a09a20481fe58',1,'demonstration','2026-01-02T03:05:05.000000+00:00','somebody',1,0,'{"agent":"test","commit":"c0ffee","created_at":"2026-01-02T03:04:05.000000+00:00","failure":null,"functions":["do_a"],"id":"example.org/repo/a/test","issue":"Title of a\n\nThe text of a: na\u00efve \u0000 and \ud800.","issue_id":"issue-a","origin":"validated","paths":["a.py"],"run_id":"a","success":"def test_a(): ...","trusted":true}');
INSERT INTO "memory_event" VALUES(3,'18e9f39f1b9d74fe8d139b7dbd6f93b2',1,'demonstration','2026-01-02T03:05:05.000000+00:00','somebody',1,0,'{"agent":"patch","commit":"c0ffee","created_at":"2026-01-02T03:04:05.000000+00:00","failure":null,"functions":["do_a"],"id":"example.org/repo/a/pair","issue":"Title of a\n\nThe text of a: na\u00efve \u0000 and \ud800.","issue_id":"issue-a","origin":"validated","paths":["a.py"],"run_id":"a","success":"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-wrong a\n+right a\n","trusted":true}');
INSERT INTO "memory_event" VALUES(4,'18e9f39f1b9dc7bcfd1f813c99ffb224',1,'demonstration','2026-01-02T03:05:05.000000+00:00','somebody',1,0,'{"agent":"patch","commit":"c0ffee","created_at":"2026-01-02T03:04:05.000000+00:00","failure":["tried a","feedback on a"],"functions":["do_a"],"id":"example.org/repo/a/tuple","issue":"Title of a\n\nThe text of a: na\u00efve \u0000 and \ud800.","issue_id":"issue-a","origin":"validated","paths":["a.py"],"run_id":"a","success":"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-wrong a\n+right a\n","trusted":true}');
INSERT INTO "memory_event" VALUES(5,'18e9f39f1bb84c129e1562bbd22e6add',1,'operation','2026-01-02T03:05:05.000000+00:00','somebody',1,0,'{"agent":"patch","cap":15,"insight":null,"operation":"ADD","refused":"","result":"ADD as i079d0c829609","seen":"","text":"By a"}');
INSERT INTO "memory_event" VALUES(6,'18e9f39f1ed073094505b12ac3a738dc',1,'learned','2026-01-02T03:05:05.000000+00:00','somebody',NULL,0,'{"commit":"c0ffee","issue":{"author":"somebody","created_at":"2026-01-02T03:04:05.000000+00:00","id":"issue-b","text":"Title of b\n\nThe text of b: na\u00efve \u0000 and \ud800.","trusted":true},"key":"run:b","models":["provider:model"],"outcome":"repaired","patch":"--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-wrong b\n+right b\n","source":"run"}');
INSERT INTO "memory_event" VALUES(7,'18e9f39f1ed12ed038b7a1790664288c',1,'demonstration','2026-01-02T03:05:05.000000+00:00','somebody',6,0,'{"agent":"test","commit":"c0ffee","created_at":"2026-01-02T03:04:05.000000+00:00","failure":null,"functions":["do_b"],"id":"example.org/repo/b/test","issue":"Title of b\n\nThe text of b: na\u00efve \u0000 and \ud800.","issue_id":"issue-b","origin":"validated","paths":["b.py"],"run_id":"b","success":"def test_b(): ...","trusted":true}');
INSERT INTO "memory_event" VALUES(8,'18e9f39f1ed17aa11f05c223dd275787',1,'demonstration','2026-01-02T03:05:05.000000+00:00','somebody',6,0,'{"agent":"patch","commit":"c0ffee","created_at":"2026-01-02T03:04:05.000000+00:00","failure":null,"functions":["do_b"],"id":"example.org/repo/b/pair","issue":"Title of b\n\nThe text of b: na\u00efve \u0000 and \ud800.","issue_id":"issue-b","origin":"validated","paths":["b.py"],"run_id":"b","success":"--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-wrong b\n+right b\n","trusted":true}');
INSERT INTO "memory_event" VALUES(9,'18e9f39f1ed1c40fff2bddb811d0a285',1,'demonstration','2026-01-02T03:05:05.000000+00:00','somebody',6,0,'{"agent":"patch","commit":"c0ffee","created_at":"2026-01-02T03:04:05.000000+00:00","failure":["tried b","feedback on b"],"functions":["do_b"],"id":"example.org/repo/b/tuple","issue":"Title of b\n\nThe text of b: na\u00efve \u0000 and \ud800.","issue_id":"issue-b","origin":"validated","paths":["b.py"],"run_id":"b","success":"--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-wrong b\n+right b\n","trusted":true}');
INSERT INTO "memory_event" VALUES(10,'18e9f39f1ed1f238f142b29b09580139',1,'used','2026-01-02T03:05:05.000000+00:00','somebody',6,0,'{"uses":[["i079d0c829609",true]]}');
INSERT INTO "memory_event" VALUES(11,'18e9f39f1ed77881b00ef3f795fd4d03',1,'operation','2026-01-02T03:05:05.000000+00:00','somebody',6,0,'{"agent":"patch","cap":15,"insight":null,"operation":"ADD","refused":"","result":"ADD as i3597e41668fc","seen":"","text":"By b"}');
CREATE TABLE memory_insight (
	id VARCHAR NOT NULL, 
	scope INTEGER NOT NULL, 
	agent VARCHAR(16) NOT NULL, 
	added INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	writer VARCHAR(32) NOT NULL, 
	used INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(scope) REFERENCES memory_scope (id)
);
INSERT INTO "memory_insight" VALUES('i079d0c829609',1,'patch',5,5,'18e9f39f1bb84c129e1562bbd22e6add',6,'"By a"');
INSERT INTO "memory_insight" VALUES('i3597e41668fc',1,'patch',11,11,'18e9f39f1ed77881b00ef3f795fd4d03',6,'"By b"');
CREATE TABLE memory_lesson (
	id INTEGER NOT NULL, 
	scope INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	issue VARCHAR NOT NULL, 
	source VARCHAR(16) NOT NULL, 
	outcome VARCHAR NOT NULL, 
	verdict VARCHAR(16) NOT NULL, 
	marks INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (scope, "key"), 
	FOREIGN KEY(id) REFERENCES memory_event (id), 
	FOREIGN KEY(scope) REFERENCES memory_scope (id)
);
INSERT INTO "memory_lesson" VALUES(1,1,'run:a','issue-a','run','repaired','',0);
INSERT INTO "memory_lesson" VALUES(6,1,'run:b','issue-b','run','repaired','',0);
CREATE TABLE memory_meta (
	"key" VARCHAR NOT NULL, 
	value VARCHAR NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "memory_meta" VALUES('identity','a8637bef7d874a45843569041a537b7a');
CREATE TABLE memory_scope (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "memory_scope" VALUES(1,'example.org/repo');
CREATE TABLE memory_use (
	subject VARCHAR NOT NULL, 
	lesson INTEGER NOT NULL, 
	named BOOLEAN NOT NULL, 
	PRIMARY KEY (subject, lesson), 
	FOREIGN KEY(lesson) REFERENCES memory_lesson (id)
);
INSERT INTO "memory_use" VALUES('i079d0c829609',6,1);
CREATE TABLE memory_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT memory_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "memory_version" VALUES('0001');
CREATE INDEX memory_event_kind ON memory_event (scope, kind);
CREATE INDEX memory_event_lesson ON memory_event (lesson);
CREATE INDEX memory_lesson_issue ON memory_lesson (scope, issue);
CREATE INDEX memory_demonstration_changed ON memory_demonstration (scope, agent, changed);
CREATE INDEX memory_demonstration_lesson ON memory_demonstration (lesson);
CREATE INDEX memory_insight_agent ON memory_insight (scope, agent);
CREATE INDEX memory_use_lesson ON memory_use (lesson);
COMMIT;
