create table books (
    id integer primary key,
    title text not null,
    author text not null,
    year integer,
    cover blob
);
