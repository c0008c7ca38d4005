package learn

import (
	"fmt"
	"time"

	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
)

// checkShelf returns an error if --left does not print what --set has put.
func checkShelf(b *record.Bench, n int64) error {
	left, err := b.Pair.CountLeft()
	if err == nil && left != nil && b.Pair.Shop.Set != "" && *left != n {
		err = fmt.Errorf("%w: --set should put %d units, but --left prints %d", shop.ErrShop, n, *left)
	}
	return err
}

// countedWithin is how long the first sale may take to be counted.
const countedWithin = 10 * time.Second

// checkCounted returns an error if a sale since BeginCount does not show in the numbers that --left and --sales print.
func checkCounted(b *record.Bench, within time.Duration) error {
	if !b.Pair.Shop.IsElsewhere() {
		return nil
	}
	for begun := time.Now(); ; time.Sleep(shop.SettledAfter) {
		left, err := b.Pair.CountLeft()
		if err != nil {
			return err
		}
		sales, err := b.Pair.CountSales()
		if err != nil {
			return err
		}
		var why string
		switch {
		case left != nil && *left >= b.Cell.Initial:
			why = fmt.Sprintf("%s later --left still prints %d: if it counts the right product, the shop takes no unit, or "+
				"takes it later; without --left only the lock is judged", within, *left)
		case sales != nil && *sales <= *b.SalesBefore:
			why = fmt.Sprintf("%s later --sales still prints %d: if it counts the right sales, the shop records none, or "+
				"records it later; without --sales the answers count", within, *sales)
		default:
			return nil
		}
		if time.Since(begun) >= within || b.Pair.Context.Err() != nil {
			return fmt.Errorf("%w: the first order sold, but %s", shop.ErrShop, why)
		}
	}
}
