package trial

import (
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// MaskPassport hides the values in what is printed of a passport. Nothing can be played afterwards: keys have other
// names.
func MaskPassport(m *shop.Mask, p *sale.Passport) {
	m.All(&p.Facts)
	for i := range p.Steps {
		m.All(&p.Steps[i].Args)
		m.All(&p.Steps[i].Queued)
	}
}
