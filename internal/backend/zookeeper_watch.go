package backend

import "sync"

// watches are those that are set, one for each node, however many wait for it. The library keeps each watch that it is
// asked for until the node changes, also when nobody waits for it any more: a thousand who wait in vain behind one
// holder would leave a thousand.
type watches struct {
	mu sync.Mutex
	on map[string]*watch
}

// A watch is one of a node.
type watch struct {
	set  chan struct{} // closed once err says whether there is a watch
	err  error
	gone chan struct{} // closed when the node has changed, or will not be watched any more
}

// join returns what tells of a change of the node, and sets the watch if there is none yet.
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

// start sets a watch, and ends it when the library tells of a change or the client is closed.
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

// end forgets a watch: whoever comes now asks the server again.
func (w *watches) end(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.on, path)
}
