package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// console calls the simulator of the cloud of a fleet. Package double in dev/clouds defines its responses.
type console struct {
	where
	out io.Writer
}

// consoleState is the simulator's state.
type consoleState fleet.CloudState

// fault is a fault that the simulator injects.
type fault struct {
	Kind      string        `json:"kind"`
	Operation string        `json:"operation,omitempty"`
	Scope     string        `json:"scope,omitempty"`
	Times     int           `json:"times,omitempty"`
	Share     float64       `json:"share,omitempty"`
	Delay     time.Duration `json:"delay,omitempty"`
	Done      bool          `json:"done,omitempty"`
	Stall     bool          `json:"stall,omitempty"`
	Writes    bool          `json:"writes,omitempty"`
}

func cloudCommand() *cobra.Command {
	x := &console{out: os.Stdout}
	c := &cobra.Command{
		Use:   "cloud [verb target]",
		Short: "List the resources of a fleet's simulated cloud, and inject faults",
		Long: `cloud lists the instances of the cloud that ` + "`millwright up --provider`" + ` simulates. It shows
the number of other resources of each instance, and the resources without an instance.
With a verb and its target, it changes the cloud without a call to its API. The list shows the
verbs.`,
		Example: `  millwright cloud
  millwright cloud interrupt i-0123456789abcdef0
  millwright cloud fault --kind Throttled --operation RunInstances --times 5
  millwright cloud heal`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return x.run(c.Context(), args) },
	}
	x.addFlags(c)
	c.AddCommand(x.faultCommand(), x.simple("heal", "End all faults", http.MethodDelete, "faults"), x.simple("requests", "Count the requests to the cloud, by operation", http.MethodGet, "requests"))
	return c
}

func (x *console) run(ctx context.Context, args []string) error {
	method, page := http.MethodGet, "instances"
	if len(args) > 0 {
		method, page = http.MethodPost, "do/"+url.PathEscape(args[0])
	}
	if len(args) > 1 {
		on, err := x.meant(ctx, args[1])
		if err != nil {
			return err
		}
		page += "?on=" + url.QueryEscape(on)
	}
	raw, err := x.ask(ctx, method, page, nil)
	if err != nil {
		return err
	}
	var s consoleState
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("read the response of the simulated cloud: %w", err)
	}
	return s.print(x.out)
}

// meant returns the ID of the instance with the given ID, end of the ID, or machine name. Any other value is returned unchanged.
func (x *console) meant(ctx context.Context, on string) (string, error) {
	raw, err := x.ask(ctx, http.MethodGet, "instances", nil)
	if err != nil {
		return "", err
	}
	var s consoleState
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("read the response of the simulated cloud: %w", err)
	}
	for _, i := range s.Instances {
		if on == i.ID || on == path.Base(i.ID) || on == i.Name {
			return i.ID, nil
		}
	}
	return on, nil
}

func (s consoleState) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INSTANCE\tMACHINE\tSTATE\tZONE\tTYPE\tRESOURCES")
	for _, i := range s.Instances {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\n", path.Base(i.ID), i.Name, i.State, i.Zone, i.Type, len(i.Dependants))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Orphans) > 0 {
		fmt.Fprintf(out, "\nResources without an instance: %s\n", strings.Join(s.Orphans, ", "))
	}
	if len(s.Exhausted) > 0 {
		fmt.Fprintf(out, "\nWithout capacity, until `millwright cloud restock`: %s\n", strings.Join(s.Exhausted, ", "))
	}
	var verbs []string
	for _, v := range s.Verbs {
		verbs = append(verbs, strings.TrimSpace(v.Name+" "+v.On))
	}
	if len(verbs) > 0 {
		fmt.Fprintf(out, "\nVerbs:\n  %s\n", strings.Join(verbs, "\n  "))
	}
	return nil
}

func (x *console) faultCommand() *cobra.Command {
	var f fault
	c := &cobra.Command{
		Use:   "fault",
		Short: "Inject failures of requests to the cloud",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			raw, err := json.Marshal(f)
			if err != nil {
				return err
			}
			return x.show(c.Context(), http.MethodPost, "faults", raw)
		},
	}
	x.addFlags(c)
	c.Flags().StringVar(&f.Kind, "kind", "Transient", "Throttled, Exhausted, Invalid, Denied, Conflict, Transient or Garbage; empty with --delay: requests are only slow")
	c.Flags().StringVar(&f.Operation, "operation", "", "pattern for the names of operations, such as RunInstances or Describe* (default: all)")
	c.Flags().StringVar(&f.Scope, "scope", "", "scope of the shortage: type, zone or account")
	c.Flags().IntVar(&f.Times, "times", 0, "number of failures; 0 for failures until millwright cloud heal")
	c.Flags().Float64Var(&f.Share, "share", 0, "share of the requests that fail, between 0 and 1 (default: all)")
	c.Flags().DurationVar(&f.Delay, "delay", 0, "delay of each response")
	c.Flags().BoolVar(&f.Done, "done", false, "perform the request, but lose the reply")
	c.Flags().BoolVar(&f.Stall, "stall", false, "send no response")
	c.Flags().BoolVar(&f.Writes, "writes", false, "only requests that may change a resource")
	return c
}

// simple returns a command that requests one page.
func (x *console) simple(name, short, method, page string) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return x.show(c.Context(), method, page, nil) },
	}
	x.addFlags(c)
	return c
}

// show prints a page: numbers as a table, other content unchanged.
func (x *console) show(ctx context.Context, method, page string, body []byte) error {
	raw, err := x.ask(ctx, method, page, body)
	if err != nil {
		return err
	}
	var counts map[string]int
	if json.Unmarshal(raw, &counts) != nil {
		var b bytes.Buffer
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(x.out, strings.TrimSpace(b.String()))
		return err
	}
	w := tabwriter.NewWriter(x.out, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%s\t%d\n", name, counts[name])
	}
	return w.Flush()
}

var errNoCloud = errors.New("the fleet has no simulated cloud: start one with `millwright up --provider aws`")

func (x *console) ask(ctx context.Context, method, page string, body []byte) ([]byte, error) {
	f, err := fleet.Find(x.dir)
	if err != nil {
		return nil, err
	}
	if f.Cloud == nil || f.Cloud.URL == "" { // none, or a real one
		return nil, errNoCloud
	}
	return f.Cloud.Ask(ctx, method, page, body)
}
