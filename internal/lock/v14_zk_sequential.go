package lock

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkSequential is v14: each waiter creates an ephemeral node, to which ZooKeeper appends the next number, and the
// lowest number holds the lock. A waiter keeps its node and watches only the one before it. So a release wakes one
// waiter, and first come is first served. The fencing token is the number of the transaction that created the node. The
// node's own number would not do: it overflows, and starts again when the queue's directory was removed.
// The recipe is ZooKeeper's ("Recipes: Locks"), and the name of the node is that of Curator's "protection".
// Defect: as on v13, the session of a paused client ends without the client noticing.
func zkSequential(rt runtime) TryLock {
	z := zkNodes{rt, sequentialIn}
	return retryOverSessions(func(ctx context.Context, key string, _ Options) (*Lease, error) {
		if place := zkPlaceOf(ctx, key); place != nil {
			return place.try(ctx)
		}
		place := z.place(key)
		defer place.leave(ctx)
		return place.try(ctx)
	})
}

// inQueue is the [Waiting] of v14. It keeps one place in the queue from the first attempt to the last, and waits until
// the node before it is gone.
func (z zkNodes) inQueue(ctx context.Context, key string, maxWait time.Duration, attempt Attempt) (*Lease, error) {
	place := z.place(key)
	defer place.leave(ctx)
	ctx = context.WithValue(ctx, zkPlaceKey{}, place)
	return repeat(ctx, maxWait, attempt, func(ctx context.Context, deadline time.Time) bool {
		if place.before == "" { // it lost its node, or the reply was too late
			return ctx.Err() == nil
		}
		return z.awaitRemoval(ctx, place.dir+"/"+place.before, deadline)
	})
}

type zkPlaceKey struct{}

// zkPlaceOf returns the place in the queue from which a context's attempts are made, or nil if they have none.
func zkPlaceOf(ctx context.Context, key string) *zkPlace {
	if place, ok := ctx.Value(zkPlaceKey{}).(*zkPlace); ok && place.key == key && !place.granted {
		return place
	}
	return nil
}

// A zkPlace is a place in the queue.
type zkPlace struct {
	zkNodes
	key, dir, token string

	name    string // of our node; "" while there is none
	zxid    int64
	alive   time.Time // the session was alive then, or later
	before  string    // the node before ours
	granted bool      // the node belongs to a lease now
}

func (z zkNodes) place(key string) *zkPlace {
	return &zkPlace{zkNodes: z, key: key, dir: z.of(key)}
}

func (p *zkPlace) try(ctx context.Context) (*Lease, error) {
	if err := p.enqueue(ctx); err != nil {
		return nil, fmt.Errorf("acquire: %w", err)
	}
	names, err := p.ZooKeeper.Children(ctx, p.dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("acquire: %w", err)
	}
	var queued bool
	p.before, queued = predecessor(names, p.name)
	if !queued { // the session has ended, or the lock was broken: queue again
		p.name = ""
	}
	if !queued || p.before != "" || time.Now().After(p.validUntil(p.alive)) {
		return nil, ErrBusy
	}
	return p.grant(ctx), nil
}

// grant returns the lease of our node.
func (p *zkPlace) grant(ctx context.Context) *Lease {
	own := p.own()
	p.granted = true
	ctx, stop := p.keepLease(ctx, p.alive, own)
	unlock := func(ctx context.Context) error {
		stop()
		return p.remove(ctx, own)
	}
	return &Lease{Context: ctx, Token: p.token, Fence: p.zxid, unlock: unlock, forget: p.forgetting(p.dir, unlock)}
}

// enqueue creates our node, or checks that it still exists.
func (p *zkPlace) enqueue(ctx context.Context) error {
	start := time.Now()
	if p.name != "" {
		there, err := p.ZooKeeper.Check(ctx, p.own())
		if err != nil || there {
			p.alive = start
			return err
		}
	}
	p.name, p.token = "", newToken() // a new one, so that a node of an earlier place is not taken for this one
	created, err := p.create(ctx, p.dir, p.token, zk.FlagSequence, p.dir+"/"+ownName(p.token))
	switch {
	case err == nil:
		p.name, p.zxid, p.alive = path.Base(created.Path), created.Zxid, start
	case indeterminate(err):
		return p.resolveCreate(ctx, start, err)
	}
	return err
}

// resolveCreate looks for a node with our own name after an indeterminate create: a second node would queue behind the
// first. If there is none, or if that is indeterminate too, a sweep removes it as soon as it can.
func (p *zkPlace) resolveCreate(ctx context.Context, start time.Time, why error) error {
	ctx = detach(ctx)
	if name, zxid, err := p.find(ctx, p.token); err == nil {
		p.name, p.zxid, p.alive = name, zxid, start
		return nil
	}
	token := p.token
	p.sweepLate(ctx, func(ctx context.Context) error {
		name, err := p.named(ctx, token)
		if err != nil {
			return err
		}
		return p.ZooKeeper.Delete(ctx, p.dir+"/"+name)
	})
	return why
}

// find returns the name of this session's node with that token, and the number of the transaction that created it.
func (p *zkPlace) find(ctx context.Context, token string) (name string, zxid int64, err error) {
	if err = p.ZooKeeper.Sync(ctx, p.dir); err != nil {
		return "", 0, err
	}
	if name, err = p.named(ctx, token); err != nil {
		return "", 0, err
	}
	zxid, found, err := p.findOwned(ctx, p.dir+"/"+name)
	if err == nil && !found {
		err = zk.ErrNoNode
	}
	return name, zxid, err
}

// named returns the name of the node with that token, or [zk.ErrNoNode].
func (p *zkPlace) named(ctx context.Context, token string) (string, error) {
	names, err := p.ZooKeeper.Children(ctx, p.dir)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, ownName(token)) })
	if i < 0 {
		return "", zk.ErrNoNode
	}
	return names[i], nil
}

func (p *zkPlace) own() string { return p.dir + "/" + p.name }

// leave removes our node, unless it belongs to a lease.
func (p *zkPlace) leave(ctx context.Context) {
	if p.name == "" || p.granted {
		return
	}
	_ = p.remove(detach(ctx), p.own())
}
