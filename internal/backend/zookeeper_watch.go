package backend

import "sync"

// watches holds one watch per node, shared by all waiters for the node. The library keeps every watch until the node
// changes, even without a waiter: unshared, a thousand waiters that give up behind one holder would leave a thousand
// watches.
type watches struct {
	mu sync.Mutex
	on map[string]*watch
}

// A watch is a watch of one node.
type watch struct {
	set  chan struct{} // closed once err is known
	err  error
	gone chan struct{} // closed when the node has changed, or the client is closed
}

// join returns a channel that is closed when the node changes. It sets the watch if there is none yet.
func (w *watches) join(z *ZooKeeper, path string) (<-chan struct{}, error) {
	w.mu.Lock()
	one, is := w.on[path]
	if !is {
		one = &watch{set: make(chan struct{}), gone: make(chan struct{})}
		w.on[path] = one
	}
	w.mu.Unlock()
	if !is {
		w.start(z, path, one)
	}
	<-one.set
	return one.gone, one.err
}

// start sets a watch, and ends it when the library reports a change or the client is closed.
func (w *watches) start(z *ZooKeeper, path string, one *watch) {
	_, _, event, err := z.conn.GetW(path)
	one.err = err
	if err != nil {
		w.end(path)
		close(one.set)
		return
	}
	close(one.set)
	go func() {
		select {
		case <-event:
		case <-z.closed:
		}
		w.end(path)
		close(one.gone)
	}()
}

// end removes a watch: the next waiter sets a new one.
func (w *watches) end(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.on, path)
}

// any reports whether there is a watch.
func (w *watches) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.on) > 0
}
