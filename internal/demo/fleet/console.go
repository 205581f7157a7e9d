package fleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// CloudState is the simulator's state, from the page "instances" of its console.
type CloudState struct {
	Instances []struct {
		ID         string   `json:"id"`
		Name       string   `json:"name"`
		State      string   `json:"state"`
		Zone       string   `json:"zone"`
		Type       string   `json:"type"`
		Dependants []string `json:"dependants"`
	} `json:"instances"`
	Orphans []string `json:"orphans"`
	// Exhausted are the places without capacity, such as a zone or "zone/type".
	Exhausted []string `json:"exhausted"`
	Verbs     []struct {
		Name string `json:"name"`
		On   string `json:"on"`
	} `json:"verbs"`
}

// Ask requests a page of the simulator's console, which is outside the API of the cloud: package double in dev/clouds lists the pages.
func (c *Cloud) Ask(ctx context.Context, method, page string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.URL+"/_double/"+page, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(raw)))
	}
	return raw, err
}
