package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/joint"
)

// unshared says why the parties do not share the lock of a rung when each has instances of its own; empty if they share
// it. A server that one party starts for itself is unknown to the others, and a lock that is not shared would be found
// broken without any fault of its own.
func unshared(s *Settings, rung catalog.Rung) string {
	switch {
	case rung.OnNodes():
		return "needs shared nodes"
	case rung.OnZooKeeper() && s.ZooKeeper == "":
		return "needs a shared --zookeeper"
	case rung.OnSQL() && (!strings.Contains(s.SQL, "://") || strings.HasPrefix(s.SQL, "sqlite:")):
		return "needs a shared --sql"
	}
	return ""
}

// terms are the settings that the parties have to agree on.
func (s *Settings) terms(specs []catalog.Spec, stockapi string) joint.Terms {
	var cells []string
	for _, spec := range specs {
		cells = append(cells, spec.Title())
	}
	instances := "instances of its own"
	if len(s.Targets) > 0 {
		instances = "given"
	}
	return joint.Terms{
		{Flag: "the build of loadtest", Value: s.Build},
		{Flag: "the build of stockapi", Value: stockapi},
		{Flag: "--instances", Value: fmt.Sprint(s.Instances)},
		{Flag: "--scenarios, --rungs or --repeat", Value: strings.Join(cells, ", ")},
		{Flag: "--targets", Value: instances},
		{Flag: "--requests", Value: fmt.Sprint(s.Load.Requests)},
		{Flag: "--concurrency", Value: fmt.Sprint(s.Load.Concurrency)},
		{Flag: "--stock", Value: fmt.Sprint(s.Load.Stock)},
		{Flag: "--shards", Value: fmt.Sprint(s.Load.Shards)},
		{Flag: "--rate", Value: fmt.Sprint(s.Load.Rate)},
		{Flag: "--wait", Value: s.Load.Wait.String()},
		{Flag: "--ttl", Value: s.Load.TTL.String()},
		{Flag: "--work", Value: s.Load.Work.String()},
		{Flag: "--zookeeper", Value: s.ZooKeeper},
		{Flag: "--sql", Value: secret(s.SQL)},
	}
}

// stockapiBuild returns the build of stockapi of this party's instances, as far as it is known before they run; empty
// if it is not. The first of the given instances says it, or the executable that is to be started. One that is built
// from this module is of loadtest's own build.
func (s *session) stockapiBuild(ctx context.Context) string {
	if len(s.settings.Targets) > 0 {
		ladder, err := s.client.Ladder(ctx, s.settings.Targets[0])
		if err != nil {
			return "" // the cells will say why
		}
		return ladder.Build
	}
	path := cluster.Installed(s.settings.Stockapi)
	if path == "" {
		return s.settings.Build
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	says, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(says))
}

// secret stands for a text that may hold a password: it differs where that does.
func secret(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// join carries out the run, alone or together with the other parties.
func (s *session) join(ctx context.Context) (err error) {
	with := s.settings.Joint
	if with.Name == "" {
		return s.carryOut(ctx)
	}
	party, ctx, err := joint.Gather(ctx, joint.Options{
		URL: with.Meet, Name: with.Name, Parties: with.Parties, Wait: with.Wait,
		Terms: s.settings.terms(s.specs, s.stockapiBuild(ctx)), Say: s.progress.Say,
	})
	if err != nil {
		return err
	}
	s.party, s.history.ID = party, party.Run()
	err = s.carryOut(ctx)
	party.Close(ctx, err == nil)
	return err
}

// introduce introduces this party to the others, and replaces the history by that of the common run.
func (s *session) introduce(ctx context.Context) error {
	if s.party == nil {
		return nil
	}
	s.progress.Say("waiting until the others are ready…")
	run, err := s.party.Introduce(ctx, s.history)
	if err == nil {
		s.history = run
	}
	return err
}
