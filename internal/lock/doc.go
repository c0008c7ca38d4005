// Package lock is a ladder of locks, each rung one step better than the one below, and each with the defect that the
// next one mends. All of them guard the same three lines, "read the stock, decide, write the stock", which are
// somewhere else; here is only how a lock is taken and given back.
//
// # The ladder
//
// v0 takes no lock, and sells a unit to everybody who reads the stock before the first one writes it. v0.5 keeps the
// others out with a mutex, and works until there is a second process. So the lock has to live where all processes can
// see it: v1 is a key in Redis, made by SETNX and deleted at the end. A holder that dies never deletes it. v1.5 gives
// the key a TTL, and dies between the two commands. v2 makes them one. Now the lock ends by itself, also while its
// holder is still at work: a second one comes in, and the first one, when it is done, deletes the second one's lock.
// v3 writes a token of its own into the key and looks before it deletes. v4 looks and deletes in one script, because
// much can happen between two commands. v5 renews the lease for as long as the work takes, so that it ends only when
// its holder does. v6 keeps the lock on most of several Redis servers, so that none of them alone can lose it.
//
// v5.5 puts an end to the renewing, and cancels the work when the lease may be over.
//
// v7 lets its own holder in again, and counts; and its waiters do not ask again and again, but are told. v7-cached is v7
// sped up, and an exhibit. v8 serves those who wait in the order in which they came.
// v12 is for a shop that has an SQL database and no Redis: a row under a unique key, which one statement takes if it is
// free or has expired by the database's clock. v12-session takes a lock of the server's own, which belongs to a connection
// and has no TTL.
//
// v9 takes the locks of several products, all or none. v9-naive takes them one by one, and is an exhibit.
// v10 lets readers in together, and keeps writers alone. v11 is a semaphore: it lets in as many as there are permits, and
// is a lock when there is one. v11-two has two.
//
// v13 and v14 need no TTL: their lock is a node of ZooKeeper that ends with its holder's session. On v13 a release wakes
// all who wait; on v14 they queue, and each waits for the one before it alone.
//
// None of these is safe from a holder that stops for longer than its lease and then goes on, not knowing. No lock that
// ends by itself is. v15 draws a number with every lease, a fencing token, and leaves it to the stock to refuse the older
// one. v16 and v17 need no lock at all, because Redis can compare, decide and write in one step.
//
// # Reading order
//
// lock.go says what a lock is: [TryLock], [Lease], and the errors that callers decide on. Then the rungs in their
// order, a file each: v0_nolock.go to v15_fenced.go. Neighbours differ in a few lines and repeat the rest on purpose:
// the difference is the lesson, and `make diff A=v3 B=v4` shows it. The scripts are in the .lua files.
//
// What is no lesson exists once. wait.go waits for a lock, by trying again; wake.go by being woken; queue.go is the line
// in which v8's waiters stand. owner.go identifies the holder of a reentrant lock, reentrant.go has its commands;
// several.go has what v9 needs for more than one key, permit.go the commands of the semaphore, rw.go those of readers and
// writers. timer.go is the timer of v5. renewer.go keeps the lease of v5.5, and of what comes after it, alive; lease.go is
// the context of the work under it, which ends with the lease. sweep.go removes what may be carried out late: an acquire
// that was given up, or a release. foreign.go names a key that holds no lock of ours. redlock_nodes.go has what v6 needs
// around redsync. sql_table.go is v12's table, in each database's dialect, sql_session.go the connection of v12-session.
// zk_nodes.go has what v13 and v14 have in common, zk_queue.go says who is before whom in v14's queue. backends.go is what
// the rungs are built on. ladder.go is the list: a rung is a file, and a line there.
package lock
