package contracttest

import (
	"fmt"
	"sync"
)

// A Store holds the state that the instances of a shop share: the stock, the lock, and the outcomes of orders.
type Store struct {
	// lock is the lock of the shop: who has it is alone, unless a test bends that.
	lock sync.Mutex

	mu     sync.Mutex
	stock  map[string]int64
	orders map[string]map[string]any
	came   int
	fence  int64
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{stock: map[string]int64{}, orders: map[string]map[string]any{}}
}

// Left returns how many units of a product there are, and whether there is such a product.
func (s *Store) Left(product string) (n int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known = s.stock[product]
	return n, known
}

// Set sets how many units of a product there are.
func (s *Store) Set(product string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stock[product] = n
}

// Remove takes a product off the shelf.
func (s *Store) Remove(product string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stock, product)
}

// Take takes units off the shelf in one step, and returns what is then left, or false if there are not enough.
func (s *Store) Take(product string, quantity int64) (left int64, enough bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left = s.stock[product] - quantity
	if left < 0 {
		return s.stock[product], false
	}
	s.stock[product] = left
	return left, true
}

// Orders returns how many orders came.
func (s *Store) Orders() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.came
}

// Products returns the products on the shelf.
func (s *Store) Products() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for product := range s.stock {
		all = append(all, product)
	}
	return all
}

// arrived counts an order and returns its number, from 1.
func (s *Store) arrived() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came++
	return s.came
}

// Token returns the next fencing token.
func (s *Store) Token() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence++
	return s.fence
}

// record keeps what became of an order.
func (s *Store) record(o *Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome := map[int]string{200: "sold", 409: "refused", 423: "busy"}[o.Status]
	if outcome == "" {
		outcome = "unknown"
	}
	told := map[string]any{"order": o.ID, "outcome": outcome, "product": o.Product, "quantity": o.Quantity}
	told["units"], told["left"], told["instance"] = []int64{}, o.Left, fmt.Sprint(o.Doc["instance"])
	if us, is := o.Doc["units"].([]int64); is {
		told["units"] = us
	}
	s.orders[o.ID] = told
}

// Recall returns what became of an order.
func (s *Store) Recall(id string) (told map[string]any, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told, known = s.orders[id]
	return told, known
}
