package run

import (
	"context"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

// remote is the environment of a run that was given instances: all cells run on the same ones.
type remote struct {
	urls   []string
	client *client.Client
}

// onPorts is the environment of a run that starts its instances once, on given ports, as one would by hand. The servers
// are the run's own, as in a local environment.
type onPorts struct {
	remote
	servers *cluster.Backend
}

func (o *onPorts) backend() history.Backend { return o.servers.Backend }

// startOnPorts starts the servers, and the instances on the given ports.
func (s *session) startOnPorts(ctx context.Context, c *cluster.Cluster) (*onPorts, error) {
	l, err := s.startLocal(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := l.servers.Ready(ctx); err != nil {
		return nil, err
	}
	env := &onPorts{remote{client: s.client}, l.servers}
	for _, port := range s.settings.Ports {
		in, err := c.StartInstance(ctx, l.stockapi, port, l.servers, false, "--addr", "127.0.0.1:"+port)
		if err != nil {
			return nil, err
		}
		env.urls = append(env.urls, in.URL)
	}
	return env, nil
}

func (r *remote) backend() history.Backend {
	return history.Backend{
		Kind: "targets", Text: "that of the targets; nothing was started here",
		Stockapi: "running already: " + strings.Join(r.urls, ", "),
	}
}

func (r *remote) clear(ctx context.Context, product string) error {
	return r.client.Forget(ctx, r.urls[0], product)
}

func (r *remote) prepare(_ context.Context, spec catalog.Spec) <-chan cellEnvironment {
	ready := make(chan cellEnvironment, 1)
	env := cellEnvironment{close: func() {}}
	env.notRun = notOn(spec, len(r.urls))
	switch {
	case env.notRun != "":
	case spec.Scenario.Instances != catalog.Several:
		env.urls = r.urls[:1]
	default:
		env.urls = r.urls
	}
	ready <- env
	return ready
}
