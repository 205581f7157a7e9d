package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// A dashboard has 24 columns. line is the height of a row.
const (
	column, line = 56, 34
	margin       = 6
)

type dashboard struct {
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Type, Title string
	Grid        struct{ X, Y, W, H int } `json:"gridPos"`
	Targets     []target                 `json:"targets"`
	Field       struct {
		Defaults struct {
			Unit   string `json:"unit"`
			Custom struct {
				Stacking struct{ Mode string } `json:"stacking"`
			} `json:"custom"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Transformations []struct {
		Options struct {
			Rename map[string]string `json:"renameByName"`
		} `json:"options"`
	} `json:"transformations"`
}

type target struct {
	Expr   string `json:"expr"`
	Legend string `json:"legendFormat"`
}

func read(file string) (d dashboard, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(raw, &d)
}

var variable = regexp.MustCompile(`\$\{?(\w+)\}?`)

// filled returns a query with all variables set.
func filled(query string) string {
	return variable.ReplaceAllStringFunc(query, func(name string) string {
		if strings.Contains(name, "interval") {
			return "2m"
		}
		return ".*"
	})
}

// canvas collects the SVG of a dashboard.
type canvas struct{ bytes.Buffer }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.Buffer, format+"\n", args...) }

func (c *canvas) text(x, y, size float64, class, text string) {
	c.add(`<text x="%.0f" y="%.0f" font-size="%.0f" class="%s">%s</text>`, x, y, size, class, html.EscapeString(text))
}

// box is the place of a panel in pixels, without its margin.
type box struct{ x, y, w, h float64 }

func (d dashboard) draw(ctx context.Context, h *history) ([]byte, error) {
	bottom := 0
	for _, p := range d.Panels {
		bottom = max(bottom, p.Grid.Y+p.Grid.H)
	}
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="Inter, Helvetica, Arial, sans-serif">`, 24*column, bottom*line+40)
	c.add(`<style>.b{fill:#f4f5f5}.p{fill:#fff;stroke:#d8d9da}.t{fill:#24292e}.m{fill:#6a737d}.g{stroke:#e4e5e6}.w{fill:#d9480f}</style>`)
	c.add(`<rect width="100%%" height="100%%" class="b"/>`)
	c.text(margin+4, 26, 18, "t", d.Title)
	for _, p := range d.Panels {
		b := box{float64(p.Grid.X*column + margin), float64(40 + p.Grid.Y*line + margin/2), float64(p.Grid.W*column - 2*margin), float64(p.Grid.H*line - margin)}
		if err := p.draw(ctx, c, h, b); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Title, err)
		}
	}
	c.add(`</svg>`)
	return c.Bytes(), nil
}

func (p panel) draw(ctx context.Context, c *canvas, h *history, b box) error {
	if p.Type == "row" {
		c.text(b.x+4, b.y+22, 15, "t", "▾ "+p.Title)
		return nil
	}
	c.add(`<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="2" class="p"/>`, b.x, b.y, b.w, b.h)
	c.text(b.x+8, b.y+18, 12, "t", clipped(p.Title, b.w-16, 12))
	inner := box{b.x + 8, b.y + 26, b.w - 16, b.h - 34}
	switch p.Type {
	case "stat":
		return p.stat(ctx, c, h, inner)
	case "table":
		return p.table(ctx, c, h, inner)
	case "timeseries":
		return p.series(ctx, c, h, inner)
	}
	return fmt.Errorf("cannot draw a panel of type %s", p.Type)
}

// clipped returns a text that fits a width.
func clipped(text string, width, size float64) string {
	if n := int(width / (size * 0.56)); n > 1 && len(text) > n {
		return text[:n-1] + "…"
	}
	return text
}

func (p panel) stat(ctx context.Context, c *canvas, h *history, b box) error {
	v, err := h.instant(ctx, filled(p.Targets[0].Expr))
	if err != nil {
		return err
	}
	shown := "No data"
	if len(v) > 0 {
		shown = amount(v[0].F, p.Field.Defaults.Unit)
	}
	c.text(b.x, b.y+b.h/2+12, 30, "t", shown)
	return nil
}

func (p panel) table(ctx context.Context, c *canvas, h *history, b box) error {
	v, err := h.instant(ctx, filled(p.Targets[0].Expr))
	if err != nil {
		return err
	}
	var heads []string
	for _, s := range v {
		s.Metric.Range(func(l labels.Label) {
			if !slices.Contains(heads, l.Name) {
				heads = append(heads, l.Name)
			}
		})
	}
	slices.Sort(heads)
	rename := map[string]string{}
	for _, t := range p.Transformations {
		rename = t.Options.Rename
	}
	width := b.w / float64(len(heads)+1)
	for n, head := range append(slices.Clone(heads), "Value") {
		if r := rename[head]; r != "" {
			head = r
		}
		c.text(b.x+float64(n)*width, b.y+14, 11, "m", clipped(head, width-4, 11))
	}
	for n, s := range v {
		y := b.y + 32 + 18*float64(n)
		if y > b.y+b.h {
			break
		}
		for i, head := range heads {
			c.text(b.x+float64(i)*width, y, 12, "t", clipped(s.Metric.Get(head), width-4, 12))
		}
		c.text(b.x+float64(len(heads))*width, y, 12, "t", amount(s.F, p.Field.Defaults.Unit))
	}
	if len(v) == 0 {
		c.text(b.x, b.y+40, 13, "m", "No data")
	}
	return nil
}

// amount returns a number in readable form.
func amount(v float64, unit string) string {
	switch unit {
	case "s":
		return time.Duration(v * float64(time.Second)).Round(time.Second / 100).String()
	case "bytes":
		return fmt.Sprintf("%.0f MiB", v/(1<<20))
	case "percentunit":
		return fmt.Sprintf("%.1f%%", 100*v)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// curve is a series of a panel with its name.
type curve struct {
	name   string
	points []promql.FPoint
}

var placeholder = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

func (p panel) curves(ctx context.Context, h *history) (out []curve, err error) {
	for _, t := range p.Targets {
		m, err := h.over(ctx, filled(t.Expr))
		if err != nil {
			return nil, err
		}
		for _, s := range m {
			name := placeholder.ReplaceAllStringFunc(t.Legend, func(l string) string { return s.Metric.Get(placeholder.FindStringSubmatch(l)[1]) })
			if strings.TrimSpace(name) == "" {
				name = "(none)"
			}
			out = append(out, curve{name, s.Floats})
		}
	}
	return out, nil
}

// colors are the colors of the curves, in this order.
var colors = []string{"#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#e6ab02", "#a6761d", "#666666"}
