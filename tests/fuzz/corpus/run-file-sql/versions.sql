PRAGMA user_version = 2; PRAGMA application_id = 1;
