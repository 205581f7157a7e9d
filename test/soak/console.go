package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// console is the control interface of the simulated cloud: docs/providers/rehearsal.md.
type console struct{ cloud *fleet.Cloud }

// fault is a fault of package double.
type fault struct {
	Kind  string `json:"kind,omitempty"`
	Scope string `json:"scope,omitempty"`
	// Operation is a pattern for the failing operations; empty for all.
	Operation string  `json:"operation,omitempty"`
	Times     int     `json:"times,omitempty"`
	Share     float64 `json:"share,omitempty"`
	Done      bool    `json:"done,omitempty"`
	// Delay is in nanoseconds.
	Delay int64 `json:"delay,omitempty"`
}

func (c console) state(ctx context.Context) (s fleet.CloudState, err error) {
	return s, c.ask(ctx, http.MethodGet, "instances", nil, &s)
}

func (c console) requests(ctx context.Context) (counts map[string]int, err error) {
	return counts, c.ask(ctx, http.MethodGet, "requests", nil, &counts)
}

func (c console) do(ctx context.Context, verb, on string) error {
	var s fleet.CloudState
	return c.ask(ctx, http.MethodPost, "do/"+url.PathEscape(verb)+"?on="+url.QueryEscape(on), nil, &s)
}

func (c console) inject(ctx context.Context, f fault) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	var all []fault
	return c.ask(ctx, http.MethodPost, "faults", raw, &all)
}

func (c console) heal(ctx context.Context) error {
	var all []fault
	return c.ask(ctx, http.MethodDelete, "faults", nil, &all)
}

func (c console) ask(ctx context.Context, method, page string, body []byte, into any) error {
	raw, err := c.cloud.Ask(ctx, method, page, body)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return json.Unmarshal(raw, into)
}
