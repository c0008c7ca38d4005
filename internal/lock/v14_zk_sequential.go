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

// zkSequential is v14: whoever wants the lock makes an ephemeral node to which ZooKeeper adds the next number, and who
// has the lowest has the lock. A waiter keeps its node and waits for the one before it alone, so a release wakes one,
// and first come is first served. The fencing token is the number of the transaction that made the node, and not the
// node's own: that one overflows, and begins anew when the queue's node was removed.
// The recipe is ZooKeeper's ("Recipes: Locks"), the node's own name that of Curator's "protection".
// Defect: a paused client's session ends without its knowing, as v13's.
func zkSequential(b Backends) TryLock {
	z := zkNodes{b, sequentialIn}
	return overSessions(func(ctx context.Context, key string, _ time.Duration) (*Lease, error) {
		if place, ok := ctx.Value(zkPlaceKey{}).(*zkPlace); ok && place.key == key && !place.granted {
			return place.try(ctx)
		}
		place := z.place(key)
		defer place.leave(ctx)
		return place.try(ctx)
	})
}

// inQueue is how v14 waits: in one place of the queue from the first attempt to the last, until whoever is before it
// has gone.
func (z zkNodes) inQueue(ctx context.Context, key string, patience time.Duration, attempt Attempt) (*Lease, error) {
	place := z.place(key)
	defer place.leave(ctx)
	ctx = context.WithValue(ctx, zkPlaceKey{}, place)
	return repeat(ctx, patience, attempt, func(ctx context.Context, deadline time.Time) bool {
		if place.before == "" { // it lost its node, or its time
			return ctx.Err() == nil
		}
		return z.awaitRemoval(ctx, place.dir+"/"+place.before, deadline)
	})
}

type zkPlaceKey struct{}

// zkPlace is a place in the queue.
type zkPlace struct {
	zkNodes
	key, dir, token string

	name    string // of our node; empty while there is none
	zxid    int64
	alive   time.Time // the session was alive then, or later
	before  string    // who is before us
	granted bool      // the node is a lease's now
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
	if !queued { // the session has ended, or somebody broke the lock: to the end of the queue
		p.name = ""
	}
	if !queued || p.before != "" || time.Now().After(p.validUntil(p.alive)) {
		return nil, ErrBusy
	}
	own := p.own()
	p.granted = true
	ctx, stop := p.keep(ctx, p.alive, own)
	unlock := func(ctx context.Context) error {
		stop()
		return p.remove(ctx, own)
	}
	return &Lease{Context: ctx, Token: p.token, Fence: p.zxid, Unlock: unlock}, nil
}

// enqueue makes our node, or makes sure that it is still there.
func (p *zkPlace) enqueue(ctx context.Context) error {
	begun := time.Now()
	if p.name != "" {
		there, err := p.ZooKeeper.Check(ctx, p.own())
		if err != nil || there {
			p.alive = begun
			return err
		}
	}
	p.name, p.token = "", newToken() // of each place its own: what is left of the one before is not taken for this one
	made, err := p.make(ctx, p.dir, p.token, zk.FlagSequence, p.dir+"/"+ownName(p.token))
	switch {
	case err == nil:
		p.name, p.zxid, p.alive = path.Base(made.Path), made.Zxid, begun
	case unclear(err):
		return p.recognise(ctx, begun, err)
	}
	return err
}

// recognise looks for a node of our own name among the others, as its make may have been carried out: whoever makes a
// second one queues behind itself. If it is not there, or that cannot be known either, it is removed as soon as it can
// be.
func (p *zkPlace) recognise(ctx context.Context, begun time.Time, why error) error {
	ctx, cancel := detach(ctx)
	defer cancel()
	if name, zxid, err := p.find(ctx, p.token); err == nil {
		p.name, p.zxid, p.alive = name, zxid, begun
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

// find returns the name of this session's node with that token, and the number of the transaction that made it.
func (p *zkPlace) find(ctx context.Context, token string) (name string, zxid int64, err error) {
	if err = p.ZooKeeper.Sync(ctx, p.dir); err != nil {
		return "", 0, err
	}
	if name, err = p.named(ctx, token); err != nil {
		return "", 0, err
	}
	zxid, found, err := p.ours(ctx, p.dir+"/"+name)
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

// leave removes our node, if we have one that is not a lease's.
func (p *zkPlace) leave(ctx context.Context) {
	if p.name == "" || p.granted {
		return
	}
	ctx, cancel := detach(ctx)
	defer cancel()
	_ = p.remove(ctx, p.own())
}
