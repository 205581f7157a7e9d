package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// console is the way around the API of the played cloud: docs/providers/rehearsal.md.
type console struct{ url string }

// instance is one that the cloud lists.
type instance struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// state is what the cloud has.
type state struct {
	Instances []instance `json:"instances"`
	Orphans   []string   `json:"orphans"`
	Verbs     []struct {
		Name string `json:"name"`
		On   string `json:"on"`
	} `json:"verbs"`
}

// fault is as package double has it.
type fault struct {
	Kind  string `json:"kind,omitempty"`
	Scope string `json:"scope,omitempty"`
	// Operation is a pattern for what fails; empty: everything.
	Operation string  `json:"operation,omitempty"`
	Times     int     `json:"times,omitempty"`
	Share     float64 `json:"share,omitempty"`
	Done      bool    `json:"done,omitempty"`
	// Delay is in nanoseconds.
	Delay int64 `json:"delay,omitempty"`
}

func (c console) state(ctx context.Context) (s state, err error) {
	return s, c.ask(ctx, http.MethodGet, "instances", nil, &s)
}

func (c console) requests(ctx context.Context) (counts map[string]int, err error) {
	return counts, c.ask(ctx, http.MethodGet, "requests", nil, &counts)
}

func (c console) do(ctx context.Context, verb, on string) error {
	var s state
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
	r, err := http.NewRequestWithContext(ctx, method, c.url+"/_double/"+page, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", page, errors.New(strings.TrimSpace(string(raw))))
	}
	return json.Unmarshal(raw, into)
}
