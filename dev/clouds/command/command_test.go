package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// cloud returns its inventory to every client.
type cloud struct{ command.Options }

func (cloud) Operation(*http.Request, []byte) (string, bool) { return "Ask", false }
func (c cloud) Serve(w http.ResponseWriter, _ *http.Request, _ []byte) {
	_, _ = w.Write(c.Inventory)
}
func (cloud) Fail(http.ResponseWriter, *http.Request, double.Failure) {}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	inventory := filepath.Join(dir, "inventory.yaml")
	if err := os.WriteFile(inventory, []byte("images: [a]"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- command.Run(ctx, "double", []string{"--dir", dir, "--inventory", inventory}, func(_ *double.Clock, o command.Options) (double.Cloud, error) {
			return cloud{o}, nil
		})
	}()
	var place command.Place
	for end := time.Now().Add(20 * time.Second); place.URL == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if raw, err := os.ReadFile(filepath.Join(dir, command.PlaceFile)); err == nil {
			if err := json.Unmarshal(raw, &place); err != nil {
				t.Fatal(err)
			}
		}
	}
	answer, err := http.Get(place.URL) //nolint:noctx // It is on this machine.
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || string(body) != "images: [a]" {
		t.Errorf("%q, %v", body, err)
	}
	_ = answer.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"--dir", t.TempDir(), "more"}, {"--dir", t.TempDir(), "--inventory", "/nowhere"}} {
		if err := command.Run(t.Context(), "double", args, nil); err == nil {
			t.Errorf("%q are taken", args)
		}
	}
}

func TestInventoryCompletesTheSample(t *testing.T) {
	type things struct {
		Images []string `json:"images"`
		Zones  []string `json:"zones"`
	}
	sample := things{Images: []string{"a"}, Zones: []string{"z"}}
	for text, want := range map[string]string{"": "[a] [z]", "images: [b, c]": "[b c] [z]", "{}": "[a] [z]"} {
		o := command.Options{}
		if text != "" {
			o.Inventory = []byte(text)
		}
		got, err := command.Inventory(o, sample)
		if said := fmt.Sprint(got.Images, got.Zones); err != nil || said != want {
			t.Errorf("%q: %s, %v; want %s", text, said, err, want)
		}
	}
	if _, err := command.Inventory(command.Options{Inventory: []byte("imagse: [b]")}, sample); err == nil {
		t.Error("an unknown field was accepted")
	}
}
