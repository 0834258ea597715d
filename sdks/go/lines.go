package ext

// Span is a piece of a line. Style is words such as "accent bold", FG and BG are roles or "#rrggbb"; with Fill the text
// repeats until the row is full.
type Span struct {
	Text  string `json:"text"`
	Style string `json:"style,omitempty"`
	FG    string `json:"fg,omitempty"`
	BG    string `json:"bg,omitempty"`
	Link  string `json:"link,omitempty"`
	Fill  bool   `json:"fill,omitempty"`
}

// StyledLine is one line of texts and spans; make it with Line. Wherever a line is expected, a string will do.
type StyledLine []any

// Line makes a line of strings and spans: Line("on ", S("staging", "accent")).
func Line(parts ...any) StyledLine { return parts }

// S is a text with a style.
func S(text, style string) Span { return Span{Text: text, Style: style} }

// View is how a result is drawn: Lines folded, Expanded in full. A line is a string or a StyledLine.
type View struct {
	Title    any   `json:"title,omitempty"`
	Lines    []any `json:"lines"`
	Expanded []any `json:"expanded,omitempty"`
	Markdown bool  `json:"markdown,omitempty"` // the lines are Markdown
}

// ViewOf is a view of lines.
func ViewOf(lines ...any) View { return View{Lines: lines} }
