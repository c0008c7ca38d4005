package drawing

import _ "embed"

var (
	//go:embed unpack.js
	unpack string
	//go:embed layout.js
	layout string
	//go:embed timeline.js
	timeline string
	//go:embed palette.css
	palette string
	//go:embed timeline.css
	style string
)

// Viewer is the script of viewTimeline, an interactive timeline. It needs [Script].
//
//go:embed viewer.js
var Viewer string

// ViewerStyle is the CSS of its controls, its card and its list.
//
//go:embed viewer.css
var ViewerStyle string

// Script returns the script of unpackDrawing, inflate and drawTimeline.
func Script() string { return unpack + layout + timeline }

// Style returns the CSS of a timeline, with its colours.
func Style() string { return palette + style }
