attach database 'stolen.db' as stolen;
