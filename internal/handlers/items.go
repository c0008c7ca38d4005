package handlers

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"stockapi/internal/sale"
	"stockapi/internal/stock"
)

// maxItems bounds the products of one order, and so the locks that one order holds.
const maxItems = 16

// items reads the items of an order: product:quantity, separated by commas.
func (b Bounds) items(p params, o *sale.Order) error {
	text, ok := p["items"]
	if !ok {
		return nil
	}
	for _, other := range []string{"product", "quantity"} {
		if _, too := p[other]; too {
			return badInput("items takes the place of product and quantity: %s is given too", other)
		}
	}
	if text == "" {
		return badInput("items is empty")
	}
	for one := range strings.SplitSeq(text, ",") {
		item, err := b.item(one)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(o.Items, func(i stock.Item) bool { return i.Product == item.Product }):
			return badInput("items names %s twice", item.Product)
		case len(o.Items) == maxItems:
			return badInput("items names more than %d products", maxItems)
		}
		o.Items = append(o.Items, item)
	}
	return nil
}

// item reads one item. Without a quantity it is one unit.
func (b Bounds) item(text string) (stock.Item, error) {
	product, quantity, given := strings.Cut(text, ":")
	item := stock.Item{Product: product, Quantity: 1}
	if err := checkProduct(product); err != nil || !given {
		return item, err
	}
	return item, params{"quantity": quantity}.integer("quantity", &item.Quantity, 1, b.MaxQuantity)
}

// itemsText returns a JSON list of items as the text that a query would have.
func itemsText(list []byte) (string, error) {
	var items []object
	if err := json.Unmarshal(list, &items); err != nil {
		return "", err
	}
	var texts []string
	for _, item := range items {
		p, err := item.params()
		if err != nil {
			return "", err
		}
		text, err := p.itemText()
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), nil
}

// itemText returns an item as the text that a query would have. It checks the members first, so that no value can
// contain a second item.
func (p params) itemText() (string, error) {
	for name := range p {
		if name != "product" && name != "quantity" {
			return "", badInput("unknown member %q of an item; known are product and quantity", name)
		}
	}
	product, quantity := p["product"], int64(1)
	if err := checkProduct(product); err != nil {
		return "", err
	}
	if err := p.integer("quantity", &quantity, 1, math.MaxInt64); err != nil {
		return "", err
	}
	return product + ":" + strconv.FormatInt(quantity, 10), nil
}
