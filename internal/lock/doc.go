// Package lock is a ladder of locks. Each rung fixes the defect of the rung below, and has a defect of its own, which
// the next rung fixes. All rungs guard the same three lines, "read the stock, decide, write the stock". Those lines are
// in another package; this one only acquires and releases locks.
//
// # The ladder
//
// v0 takes no lock. It sells a unit to each order that reads the stock before the first one's write. v0.5 is a mutex,
// and works until there is a second process. So the lock has to be where all processes can see it: v1 is a key in
// Redis, made by SETNX and deleted at the end. A holder that dies never deletes it. v1.5 gives the key a TTL by a
// second command, and may die between the two. v2 makes them one command. Now the lock also expires while its holder is
// still at work: a second holder comes in, and the first one deletes the second one's lock when it is done. v3 writes a
// token of its own into the key, and checks it before it deletes the key. v4 checks and deletes in one script, because
// the lock may change hands between two commands. v4.5 fixes nothing of v4, but drops its script: newer servers compare
// and delete by a command. v5 renews the lease for as long as the work takes, so that it expires
// only when its holder has died. v5.5 limits the renewals, and cancels the work when the lease may have expired. v5.7
// enters only when the replicas have the key too, so that a failover does not lose it. v6 keeps the lock on a majority
// of several Redis servers, so that no single server can lose it.
//
// v7 is reentrant: it lets its own holder in again, and counts. Its waiters do not poll; the release notifies them. v8
// is v7, and fair: it serves its waiters in the order in which they came. v9 takes the locks of several products, all
// or none. v10 lets readers in together, and a writer only alone. v11 is a semaphore: it lets in as many holders as it
// has permits.
//
// v12 is for a shop that has an SQL database and no Redis. Its lock is a row under a unique key. One statement takes
// the row if it is free or has expired by the database's clock. v12-session takes a lock of the database server, which
// belongs to a connection and has no TTL.
//
// v13 and v14 need no TTL: their lock is a node of ZooKeeper that ends with its holder's session. On v13 a release
// wakes all waiters. On v14 the waiters queue, and each watches only the one before it.
//
// None of these is safe from a holder that is paused for longer than its lease and then goes on. No lock that expires
// is. v15 draws a fencing token with every lease, a number that only grows, and the stock refuses an older token. v16
// and v17 need no lock: Redis compares, decides and writes in one step.
//
// v18 is for one product that everybody wants. The orders of one instance pass a lease along, each with a fencing token
// of its own, and the instances take turns. v19 passes it on to all who wait, and the shelf sells to them together.
//
// Some rungs are exhibits, each with a mistake that is often made: v5-as-printed, v7-cached, v9-naive, v9-nodes,
// v11-two, v12-naive, v14-hasty and v15-write-only.
//
// # Reading order
//
// lock.go defines a lock: [TryLock], its [Options], [Lease], and the errors that callers decide on. Then read the
// rungs in order, a file each: v0_nolock.go to v19_combining.go. Neighbours differ in a few lines and repeat the rest
// on purpose: the difference is the lesson, and `make diff A=v3 B=v4` shows it. The scripts are in the .lua files.
// ladder.go lists the rungs: a rung is a file, and an entry there.
//
// What is not the lesson exists once:
//
//   - backends.go configures the ladder, runtime.go is what rungs are built from, break.go breaks locks.
//   - renewer.go renews leases from v5.5 on, timer.go those of v5, and later.go starts that when it is due. lease.go is
//     the context of the work, which ends with the lease. sweep.go undoes a command whose outcome is indeterminate.
//   - wait.go waits for a lock by polling, wake.go by a subscription, queue.go in v8's queue, and cohort.go in the
//     memory of an instance, on v18 and v19. Package batch serves the orders that share a lease of v19.
//   - scripts.go runs the scripts of a lock that is one key, commands.go the command of v4.5. replicas.go belongs to
//     v5.7, redlock_nodes.go to v6, owner.go and reentrant.go to v7, several.go to v9, rw.go to v10, permit.go to v11,
//     sql_table.go to v12 and v12-naive, sql_session.go to v12-session, zk_nodes.go to v13 and v14, zk_queue.go to v14
//     and v14-hasty.
//   - naive_ttl.go removes old locks of v12-naive, for tests on a shared database.
//   - foreign.go reports a key that holds something other than a lock of the rung.
//   - source.go returns the code of a rung.
package lock
