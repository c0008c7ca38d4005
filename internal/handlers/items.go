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
		return badInput("items names no product")
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

// array reads the rest of a JSON list of items, after its bracket, and returns it as the text that a query would have.
func array(d *json.Decoder) (string, error) {
	var items []string
	for d.More() {
		if open, err := d.Token(); err != nil || open != json.Delim('{') {
			return "", badInput("items is not a list of objects")
		}
		p, err := object(d)
		if err != nil {
			return "", err
		}
		text, err := p.itemText()
		if err != nil {
			return "", err
		}
		items = append(items, text)
	}
	if _, err := d.Token(); err != nil {
		return "", badInput("the body is cut short")
	}
	return strings.Join(items, ","), nil
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
