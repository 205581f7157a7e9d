// Command render draws the dashboards of config/dashboards from recorded scrapes, as SVG. It is not Grafana. It evaluates the
// queries of each panel with the engine of Prometheus, and the alerts with the rules of Prometheus. It draws lines, numbers and
// tables at the places that the dashboard defines. Colors, units and interaction differ from Grafana.
//
//	go run ./render -scrapes DIR -dashboards ../../config/dashboards -rules '../../config/monitoring/plain/*.yaml' -out ../../docs/images
//
// DIR has a file UNIXTIME-JOB.txt for each scrape of each program, in the text format of Prometheus.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.scrapes, "scrapes", "", "folder with the recorded scrapes")
	flag.StringVar(&o.dashboards, "dashboards", "../../config/dashboards", "folder with the dashboards")
	flag.StringVar(&o.rules, "rules", "../../config/monitoring/plain/*.yaml", "files with alerting rules")
	flag.StringVar(&o.out, "out", "../../docs/images", "folder for the pictures")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

type options struct{ scrapes, dashboards, rules, out string }

func (o options) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "render")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h, err := load(ctx, dir, o.scrapes, o.rules)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	files, err := filepath.Glob(filepath.Join(o.dashboards, "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no dashboards in %s: %w", o.dashboards, err)
	}
	for _, file := range files {
		d, err := read(file)
		if err != nil {
			return err
		}
		picture, err := d.draw(ctx, h)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		name := "dashboard-" + strings.TrimSuffix(filepath.Base(file), ".json") + ".svg"
		if err := os.WriteFile(filepath.Join(o.out, name), picture, 0o644); err != nil { //nolint:gosec // a page of the repository
			return err
		}
	}
	return nil
}
