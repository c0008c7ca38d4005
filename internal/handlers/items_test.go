package handlers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/sale"
	"stockapi/internal/stock"
)

func TestItemsFromTheQueryAndFromTheBody(t *testing.T) {
	for _, source := range [][2]string{
		{"items=10001:2,10000", ""},
		{"", `{"items":[{"product":"10001","quantity":2},{"product":"10000"}]}`},
		{"items=10000:7", `{"items":[{"quantity":2,"product":"10001"},{"product":"10000","quantity":1}]}`}, // the body wins
	} {
		o, err := decode(source[0], source[1])
		require.NoError(t, err)
		assert.Equal(t, []stock.Item{{Product: "10001", Quantity: 2}, {Product: "10000", Quantity: 1}}, o.Items)
	}
}

func TestProductsOfSeveralSlotsAreBadInput(t *testing.T) {
	answer := serveTo(newFake(&fakeShop{err: sale.ErrSeveralSlots}, ""), request("POST /v9/decrease?items=a,b", ""))
	assert.Equal(t, 400, answer.Code)
	assert.Contains(t, answer.Body.String(), sale.ErrSeveralSlots.Error())
}

func TestItemsThatAreRefused(t *testing.T) {
	many := make([]string, maxItems+1)
	for i := range many {
		many[i] = fmt.Sprint("p", i)
	}
	for _, c := range []struct{ query, body, says string }{
		{"items=", "", "items is empty"},
		{"", `{"items":[]}`, "items is empty"},
		{"items=a,b,a", "", "names a twice"},
		{"items=a:1,a:2", "", "names a twice"},
		{"items=a,", "", "a product is"},
		{"items=a:", "", "quantity must be"},
		{"items=a:0", "", "quantity must be"},
		{"items=a:1001", "", "from 1 to 1000"},
		{"items=a:1:2", "", "quantity must be"},
		{"items=" + strings.Join(many, ","), "", "more than 16"},
		{"items=a&product=b", "", "product is given too"},
		{"items=a&quantity=1", "", "quantity is given too"},
		{"", `{"items":{"product":"a"}}`, `"items" must be`},
		{"", `{"items":["a"]}`, "list of objects"},
		{"", `{"items":[{"product":"a"}`, "not valid JSON|cut short|list of objects"},
		{"", `{"items":[{"quantity":1}]}`, "a product is"},
		{"", `{"items":[{"product":"a","colour":"red"}]}`, `unknown member "colour"`},
		{"", `{"items":[{"product":"a","product":"b"}]}`, "given twice"},
		{"", `{"items":[{"product":"a:1,b"}]}`, "a product is"},
		{"", `{"items":[{"product":"a","quantity":"1,b:2"}]}`, "quantity must be"},
		{"", `{"product":["a"]}`, `"product" must be`},
	} {
		_, err := decode(c.query, c.body)
		require.ErrorIs(t, err, errBadInput, "%s %s", c.query, c.body)
		assert.Regexp(t, c.says, err.Error())
	}
}
