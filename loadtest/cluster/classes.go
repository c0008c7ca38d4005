package cluster

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// archivePays is the number of ZooKeepers from which on an archive of their classes saves more than it costs, which is
// as much as two starts.
const archivePays = 10

// archiveWithin bounds the time that an archive may take, also on a busy machine.
const archiveWithin = 30 * time.Second

// archiveClasses makes an archive of the classes that a ZooKeeper loads, which saves a third of the processor time of a
// start. A Java that cannot make one, as before version 13, has none, and every start is as it would be without.
//
// For that it runs one server, as an ensemble of one, and ends it when it serves. Then it has loaded what a server that
// is alone needs, and what a leader needs.
func (c *Cluster) archiveClasses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, archiveWithin)
	defer cancel()
	e := &Ensemble{}
	if e.configure(c, 1) != nil {
		return
	}
	z, file := e.Servers[0], filepath.Join(c.dir, "zookeeper.jsa")
	p := &child{name: "zookeeper of the archive", cmd: z.command("-XX:ArchiveClassesAtExit=" + file)}
	if c.begin(p) != nil {
		return
	}
	defer p.kill()
	for ctx.Err() == nil && !p.exitsWithin(20*time.Millisecond) {
		if _, err := z.Keys(ctx); err == nil {
			break
		}
	}
	if !terminate(p.cmd.Process) { // it writes the archive at its end
		return
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		return
	}
	if _, err := os.Stat(file); err == nil {
		c.classes = file
	}
}
