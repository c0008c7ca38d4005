package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"stockapi/internal/sale"
)

const (
	// headerTime bounds the time in which a client has to send its header.
	headerTime = 5 * time.Second
	// settleTime is the time without new connections after which the port closes, and then the time that a client has
	// to send its first request: enough to finish a TCP handshake.
	settleTime = 50 * time.Millisecond
)

// drain shuts the instance down. For --drain-delay /readyz fails, so that a load balancer sends no new orders here, and
// every answer closes its connection, so that no client sends its next order on one that is about to close. Then the
// port closes, and the orders in flight finish and release their locks.
func drain(server *http.Server, port *port, shop *sale.Shop, c *config, log *slog.Logger) error {
	shop.Close()
	log.Info("draining")
	time.Sleep(c.DrainDelay)
	settle := min(settleTime, c.DrainDelay)
	port.stop(settle)
	time.Sleep(settle) // Shutdown drops each request that is read after it was called
	ctx, cancel := context.WithTimeout(context.Background(), c.DrainTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		_ = server.Close()
		return fmt.Errorf("requests were still in flight after --drain-timeout %v: %w", c.DrainTimeout, err)
	}
	log.Info("stopped")
	return nil
}

// A port is a listener that accepts all connections made before it closes. The system resets the connections that a
// closed listener has not accepted, and an order that was sent on one gets no answer.
type port struct {
	*net.TCPListener
	settle  time.Duration // how long no connection may have come; set, as until is, before closing is closed
	until   time.Time     // when to close at the latest
	closing chan struct{} // closed when the port begins to close
	closed  chan struct{} // closed when the port accepts no more connections
}

func newPort(l *net.TCPListener) *port {
	return &port{TCPListener: l, closing: make(chan struct{}), closed: make(chan struct{})}
}

// stop closes the port after no connection has come for the time settle, or after ten times that at the latest.
func (p *port) stop(settle time.Duration) {
	p.settle, p.until = settle, time.Now().Add(10*settle)
	close(p.closing)
	_ = p.SetDeadline(time.Now().Add(settle))
	<-p.closed
}

// delay serves with h, and delays requests that arrive while the port closes. A client that waits for an answer opens
// no new connection, so there will be a moment without new connections.
func (p *port) delay(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-p.closing:
			<-p.closed
		default:
		}
		h.ServeHTTP(w, r)
	})
}

// Accept accepts a connection. While the port closes, it fails once no more connections come.
func (p *port) Accept() (net.Conn, error) {
	accepted, err := p.TCPListener.Accept()
	select {
	case <-p.closing:
		if err != nil {
			_ = p.Close()
			close(p.closed)
			return nil, net.ErrClosed
		}
		if time.Now().Before(p.until) {
			_ = p.SetDeadline(time.Now().Add(p.settle))
		}
	default:
	}
	return accepted, err
}

// Close closes the port. It may be closed already, because http.Server closes it too.
func (p *port) Close() error {
	if err := p.TCPListener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
