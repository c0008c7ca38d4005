package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ensembleSize is the number of servers of an ensemble. Two of them are a majority.
const ensembleSize = 3

// An Ensemble holds the servers of a ZooKeeper of several.
type Ensemble struct {
	Servers []*ZooKeeper
}

// startEnsemble starts the servers of an ensemble, all at once, and waits until they have elected a leader. giveBack
// ends it, also if this fails.
func (c *Cluster) startEnsemble(ctx context.Context) (*Ensemble, error) {
	if spare := c.takeSpare(ctx, ensembleSize); spare != nil {
		return &Ensemble{Servers: spare}, nil
	}
	e := &Ensemble{}
	if err := e.configure(c, ensembleSize); err != nil {
		return e, err
	}
	return e, startAll(ctx, e.Servers)
}

// configure makes the directories of so many servers. The limits are counted in ticks of 50 ms. They are long, because
// the machine may be slow, and no fault relies on them: the end of a process is noticed at once.
func (e *Ensemble) configure(c *Cluster, size int) error {
	settings := []string{"initLimit=200", "syncLimit=100"}
	if size == 1 {
		settings = append(settings, "standaloneEnabled=false")
	}
	for i := range size {
		z, err := c.newZooKeeper(fmt.Sprintf("zookeeper %d of an ensemble", i+1), memberMain)
		if err != nil {
			return err
		}
		e.Servers = append(e.Servers, z)
		follow, err1 := freePort()
		elect, err2 := freePort()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		settings = append(settings, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, follow, elect))
	}
	for i, z := range e.Servers {
		if err := os.WriteFile(filepath.Join(z.dir, "myid"), []byte(strconv.Itoa(i+1)), 0o600); err != nil {
			return err
		}
		if err := z.configure(settings...); err != nil {
			return err
		}
	}
	return nil
}

// URL returns the servers as one address: zookeeper://host:port,host:port,host:port.
func (e *Ensemble) URL() string {
	hosts := make([]string, len(e.Servers))
	for i, z := range e.Servers {
		hosts[i] = hostPort(z.URL)
	}
	return zooKeeperScheme + strings.Join(hosts, ",")
}

// Leads reports whether the server leads its ensemble. It fails if the server does not serve.
func (z *ZooKeeper) Leads(ctx context.Context) (bool, error) {
	state, err := z.statistic(ctx, "zk_server_state")
	return state == "leader", err
}
