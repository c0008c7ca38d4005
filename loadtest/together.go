package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/fleet"
	"stockapi/loadtest/join"
)

// joinName is what a run that several make together may be called: it becomes a part of keys on Redis.
var joinName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// joining refuses what several load generators cannot make a run of.
func (f *runFlags) joining() error {
	switch {
	case f.Join == "" && f.Meet != "":
		return errors.New("--meet is for load generators that --join brings together")
	case f.Join == "":
		return nil
	case !joinName.MatchString(f.Join):
		return errors.New("--join: a name is made of letters, digits, dots, - and _, at most 64")
	case f.Parties < 2 || f.Parties > 16:
		return errors.New("--parties must lie between 2 and 16")
	case f.JoinWait < time.Second || f.JoinWait > 24*time.Hour:
		return errors.New("--join-wait must lie between 1s and 24h")
	case f.Meet != "" && !isRedis(f.Meet):
		return errors.New("--meet: no URL such as redis://127.0.0.1:6379")
	case len(f.Targets) > 0 && f.meetingPlace() == "":
		return errors.New("--join with --targets needs --meet, the URL of a Redis where the parties meet")
	case len(f.Targets) == 0 && !isRedis(f.Backend):
		return errors.New("--join needs a Redis that all parties share: name it by --backend, or give all --targets and --meet")
	}
	return nil
}

func isRedis(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && strings.HasPrefix(u.Scheme, "redis") && u.Host != ""
}

// meetingPlace is the URL of the Redis where the parties meet, empty if none was named.
func (f *runFlags) meetingPlace() string {
	if f.Meet == "" && isRedis(f.Backend) {
		return f.Backend
	}
	return f.Meet
}

// joinable returns those of the cells that several load generators can run together: those in which a crowd contends.
// Instances of each party's own are never one. What was asked for by name and cannot be had is an error.
func (f *runFlags) joinable(specs []catalog.Spec) ([]catalog.Spec, error) {
	if f.Join == "" {
		return specs, nil
	}
	var refused string
	specs = slices.DeleteFunc(specs, func(spec catalog.Spec) bool {
		s := spec.Scenario
		alone := s.Fault() || s.Instances != catalog.Several && len(f.Targets) == 0
		if alone && slices.Contains(f.Scenarios, s.Name) {
			refused = s.Name
		}
		return alone
	})
	switch {
	case refused == "one-instance":
		return nil, errors.New("--join: parties that start instances of their own have several: leave out one-instance, or give all --targets")
	case refused != "":
		return nil, fmt.Errorf("--join is for the scenarios in which a crowd contends: run %s alone", refused)
	}
	return specs, nil
}

// unshared is why the parties do not share the lock of a rung when each has instances of its own: what one of them starts
// for itself the others know nothing of, and a lock that is not shared would be found broken without any fault of its own.
func unshared(f *runFlags, rung catalog.Rung) string {
	switch {
	case rung.OnNodes():
		return "needs shared nodes"
	case rung.OnZooKeeper() && f.ZooKeeper == "":
		return "needs a shared --zookeeper"
	case rung.OnSQL() && (!strings.Contains(f.SQL, "://") || strings.HasPrefix(f.SQL, "sqlite:")):
		return "needs a shared --sql"
	}
	return ""
}

// terms are what the parties have to agree on.
func (f *runFlags) terms(specs []catalog.Spec, stockapi string) join.Terms {
	var cells []string
	for _, spec := range specs {
		cells = append(cells, spec.Title())
	}
	instances := "instances of its own"
	if len(f.Targets) > 0 {
		instances = "given"
	}
	return join.Terms{
		{Flag: "the build of loadtest", Value: thisBuild()},
		{Flag: "the build of stockapi", Value: stockapi},
		{Flag: "--instances", Value: fmt.Sprint(f.Instances)},
		{Flag: "--scenarios, --rungs or --repeat", Value: strings.Join(cells, ", ")},
		{Flag: "--targets", Value: instances},
		{Flag: "--requests", Value: fmt.Sprint(f.Requests)},
		{Flag: "--concurrency", Value: fmt.Sprint(f.Concurrency)},
		{Flag: "--stock", Value: fmt.Sprint(f.Stock)},
		{Flag: "--rate", Value: fmt.Sprint(f.Rate)},
		{Flag: "--wait", Value: f.Wait.String()},
		{Flag: "--ttl", Value: f.TTL.String()},
		{Flag: "--work", Value: f.Work.String()},
		{Flag: "--zookeeper", Value: f.ZooKeeper},
		{Flag: "--sql", Value: secret(f.SQL)},
	}
}

// stockapiBuild says which build of stockapi this party's instances are, as far as it can be told before they run: of
// those that were given the first says so, and the executable that is to be started does. One that is built from this
// module is of loadtest's own build.
func (s *session) stockapiBuild(ctx context.Context) string {
	if len(s.flags.Targets) > 0 {
		ladder, err := s.client.Ladder(ctx, s.flags.Targets[0])
		if err != nil {
			return "" // the cells will say why
		}
		return ladder.Build
	}
	path := fleet.Installed(s.flags.Stockapi)
	if path == "" {
		return thisBuild()
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

// together carries out the run, alone or with the other parties that there are to be.
func (s *session) together(ctx context.Context) (err error) {
	if s.flags.Join == "" {
		return s.carryOut(ctx)
	}
	party, ctx, err := join.Gather(ctx, join.Options{
		URL: s.flags.meetingPlace(), Name: s.flags.Join, Parties: s.flags.Parties, Wait: s.flags.JoinWait,
		Terms: s.flags.terms(s.specs, s.stockapiBuild(ctx)), Say: s.progress.Say,
	})
	if err != nil {
		return err
	}
	s.party, s.history.ID = party, party.Run()
	err = s.carryOut(ctx)
	party.Close(ctx, err == nil)
	return err
}

// introduce tells the other parties of this one, and makes the history that of the run of all.
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
