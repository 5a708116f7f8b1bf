-- What a host keeps of its orders, and what closing one takes; the same for everybody.

-- name: create
create table bench_order (
  id int primary key, status text not null, version int not null default 1,
  created_at timestamptz not null default now(), closed_at timestamptz);
create table bench_reservation (
  order_id int not null, sku int not null, quantity int not null, state text not null default 'held',
  primary key (order_id, sku));
create table bench_inventory (sku int primary key, available int not null, reserved int not null);
create table bench_history (
  id bigint generated always as identity primary key, order_id int not null,
  from_status text not null, to_status text not null, at timestamptz not null default now());

-- name: fill
insert into bench_order (id, status) select i, 'PENDING' from generate_series(0, $1::int - 1) i;

-- name: reserve
insert into bench_reservation (order_id, sku, quantity)
  select i, (i * 7 + line * 501) % 1000, 1 from generate_series(0, $1::int - 1) i, generate_series(0, 1) line;

-- name: stock
insert into bench_inventory (sku, available, reserved)
  select s, 1000000, (select count(*) from bench_reservation where sku = s) from generate_series(0, 999) s;

-- name: analyze
vacuum analyze bench_order, bench_reservation, bench_inventory;

-- name: lockOne
select status from bench_order where id = $1 for update;

-- name: closeOne
update bench_order set status = 'CLOSED', version = version + 1, closed_at = now() where id = $1;

-- name: historyOne
insert into bench_history (order_id, from_status, to_status) values ($1, 'PENDING', 'CLOSED');

-- name: releaseOne
update bench_reservation set state = 'released' where order_id = $1 and state = 'held';

-- name: restockOne
update bench_inventory i set available = i.available + r.quantity, reserved = i.reserved - r.quantity
  from (select sku, quantity from bench_reservation where order_id = $1) r where i.sku = r.sku;

-- name: lockMany
select id, status from bench_order where id = any($1::int[]) order by id for update;

-- name: closeMany
update bench_order set status = 'CLOSED', version = version + 1, closed_at = now() where id = any($1::int[]);

-- name: historyMany
insert into bench_history (order_id, from_status, to_status) select unnest($1::int[]), 'PENDING', 'CLOSED';

-- name: releaseMany
update bench_reservation set state = 'released' where order_id = any($1::int[]) and state = 'held';

-- name: lockStockMany
select sku from bench_inventory
  where sku in (select sku from bench_reservation where order_id = any($1::int[])) order by sku for update;

-- name: restockMany
update bench_inventory i set available = i.available + r.quantity, reserved = i.reserved - r.quantity
  from (select sku, sum(quantity) as quantity from bench_reservation where order_id = any($1::int[]) group by sku) r
  where i.sku = r.sku;

-- name: wrong
select (select count(*) from bench_order where status <> 'CLOSED' or version <> 2)
  + (select count(*) from bench_reservation where state <> 'released')
  + (select count(*) from bench_inventory where reserved <> 0)
  + abs((select count(*) from bench_order) - (select count(*) from bench_history)) as count;
