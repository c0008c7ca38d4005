package fleet

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Wire is the connection of one client to one server, through a proxy that nobody else uses: what happens to it
// happens to that client alone.
type Wire struct{ proxy *toxiproxy.Proxy }

// newWire returns a wire to a host:port. Close ends it.
func newWire(upstream string) (*Wire, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	var err error
	for range 3 { // the port is free when we look, and may be taken when the proxy does
		var port int
		if port, err = freePort(); err != nil {
			return nil, err
		}
		w := &Wire{toxiproxy.NewProxy(server, upstream, fmt.Sprintf("127.0.0.1:%d", port), upstream)}
		if err = w.proxy.Start(); err == nil {
			return w, nil
		}
	}
	return nil, fmt.Errorf("cannot start a proxy to %s: %w", upstream, err)
}

// Cut closes the connections, and refuses new ones.
func (w *Wire) Cut() error {
	w.proxy.Stop()
	return nil
}

// LoseCommands lets what the client sends vanish. The connections stay open.
func (w *Wire) LoseCommands() error { return w.add("timeout", "upstream", `{"timeout":0}`) }

// LoseReplies lets what the server answers vanish. What it was told to do it does.
func (w *Wire) LoseReplies() error { return w.add("timeout", "downstream", `{"timeout":0}`) }

// HoldReplies keeps back what the server answers until the wire is mended.
func (w *Wire) HoldReplies() error { return w.add("latency", "downstream", `{"latency":3600000}`) }

func (w *Wire) add(toxic, stream, attributes string) error {
	_, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(
		fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":%s}`, toxic, toxic, stream, attributes)))
	return err
}

// Mend undoes all that was done to the wire. Replies that were kept back arrive; what was lost stays lost, and its
// connections end.
func (w *Wire) Mend() error {
	w.proxy.Toxics.ResetToxics(context.Background())
	w.proxy.Lock()
	enabled := w.proxy.Enabled
	w.proxy.Unlock()
	if enabled {
		return nil
	}
	return w.proxy.Start()
}

// Close ends the wire for good.
func (w *Wire) Close() { w.proxy.Stop() }

// through returns the URL of a server as it is reached over the wire.
func (w *Wire) through(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	u.Host = w.proxy.Listen
	return u.String()
}
