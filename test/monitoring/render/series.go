package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

// series draws the curves of a panel, stacked if the dashboard says so.
func (p panel) series(ctx context.Context, c *canvas, h *history, b box) error {
	all, err := p.curves(ctx, h)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		c.text(b.x+b.w/2-24, b.y+b.h/2, 13, "m", "No data")
		return nil
	}
	stacked := p.Field.Defaults.Custom.Stacking.Mode == "normal"
	f := frame{box: box{b.x + 52, b.y + 4, b.w - 60, b.h - 40}, from: h.first, to: h.last}
	base := map[int64]float64{}
	for _, one := range all {
		for _, point := range one.points {
			v := point.F
			if stacked {
				base[point.T] += point.F
				v = base[point.T]
			}
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				f.top = max(f.top, v)
			}
		}
	}
	if f.top == 0 {
		f.top = 1
	}
	f.axes(c, p.Field.Defaults.Unit)
	clear(base)
	x, named := b.x, 0
	for n, one := range all {
		color := colors[n%len(colors)]
		f.curve(c, one, color, base, stacked)
		if text := clipped(one.name, 200, 11); named == n && x+float64(len(text))*6.2+20 < b.x+b.w {
			c.add(`<rect x="%.0f" y="%.0f" width="9" height="3" fill="%s"/>`, x, b.y+b.h-5, color)
			c.text(x+13, b.y+b.h, 11, "m", text)
			x += float64(len(text))*6.2 + 24
			named++
		}
	}
	if left := len(all) - named; left > 0 && named > 0 {
		c.text(b.x+b.w-34, b.y+b.h, 11, "m", fmt.Sprintf("+%d", left))
	}
	return nil
}

// frame is the place of the curves, with its scales.
type frame struct {
	box
	from, to time.Time
	top      float64
}

func (f frame) px(t int64) float64 {
	return f.x + f.w*float64(t-f.from.UnixMilli())/float64(max(1, f.to.UnixMilli()-f.from.UnixMilli()))
}

func (f frame) py(v float64) float64 { return f.y + f.h*(1-v/f.top) }

// axes draws the grid, with at most five lines at 1, 2 or 5 times a power of ten.
func (f *frame) axes(c *canvas, unit string) {
	step := math.Pow(10, math.Floor(math.Log10(f.top/5)))
	for _, factor := range []float64{2, 2.5, 2} {
		if f.top/step > 5 {
			step *= factor
		}
	}
	f.top = step * math.Ceil(f.top/step)
	for v := 0.0; v <= f.top; v += step {
		y := f.py(v)
		c.add(`<line x1="%.0f" y1="%.1f" x2="%.0f" y2="%.1f" class="g"/>`, f.x, y, f.x+f.w, y)
		c.text(f.x-48, y+4, 10, "m", amount(v, unit))
	}
	for n := range 5 {
		at := f.from.Add(f.to.Sub(f.from) * time.Duration(n) / 5)
		c.text(f.px(at.UnixMilli()), f.y+f.h+15, 10, "m", at.UTC().Format("15:04"))
	}
}

// curve draws one curve, above the curves of base if they are stacked. It is interrupted where it has no point for a minute.
func (f frame) curve(c *canvas, one curve, color string, base map[int64]float64, stacked bool) {
	var upper, lower []string
	flush := func() {
		if stacked && len(upper) > 1 {
			area := append([]string{}, upper...)
			for n := len(lower) - 1; n >= 0; n-- {
				area = append(area, lower[n])
			}
			c.add(`<polygon points="%s" fill="%s" fill-opacity="0.25"/>`, strings.Join(area, " "), color)
		}
		if len(upper) == 1 {
			x, y, _ := strings.Cut(upper[0], ",")
			c.add(`<circle cx="%s" cy="%s" r="1.5" fill="%s"/>`, x, y, color)
		} else if len(upper) > 1 {
			c.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="1.3"/>`, strings.Join(upper, " "), color)
		}
		upper, lower = nil, nil
	}
	var last int64
	for _, p := range one.points {
		if math.IsInf(p.F, 0) || math.IsNaN(p.F) {
			continue
		}
		if last > 0 && p.T-last > time.Minute.Milliseconds() {
			flush()
		}
		last = p.T
		from := 0.0
		if stacked {
			from = base[p.T]
			base[p.T] += p.F
		}
		upper = extended(upper, fmt.Sprintf("%.0f", f.px(p.T)), fmt.Sprintf("%.1f", f.py(from+p.F)))
		lower = extended(lower, fmt.Sprintf("%.0f", f.px(p.T)), fmt.Sprintf("%.1f", f.py(from)))
	}
	flush()
}

// extended returns a line with one more point. Only the ends of a horizontal part stay.
func extended(points []string, x, y string) []string {
	at := func(n int) string { _, y, _ := strings.Cut(points[n], ","); return y }
	if n := len(points); n >= 2 && at(n-1) == y && at(n-2) == y {
		points = points[:n-1]
	}
	return append(points, x+","+y)
}
