DROP TABLE provider_objects;
