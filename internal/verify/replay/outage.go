// Package replay plays outages to rules of remediation and counts what they
// do: how many machines they replace, how many of those would have come back by
// themselves, and how much of the fleet is missing for how long.
//
// An outage is a file: a fleet, and what happens to it when. The shapes are
// those of reports about systems of this kind; the numbers in them are round.
// Three rules play: the two by which the ancestors go, written down from what
// they do and apart from our engine, and the engine itself ([health.Decide]), with
// the breaker reporting and enforcing. The world answers the same to each of
// them and knows no chance, so that the same file gives the same table.
package replay

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Outage is one file.
type Outage struct {
	// Name is the file's, Title one line for people, After where such a thing
	// was reported.
	Name  string `json:"-"`
	Title string `json:"title"`
	After string `json:"after"`
	// Lasts is the simulated time; Boot is how long an instance takes to join, 3 m
	// by default.
	Lasts    metav1.Duration `json:"lasts"`
	Boot     metav1.Duration `json:"boot,omitempty"`
	Fleet    []Group         `json:"fleet"`
	Troubles []Trouble       `json:"troubles"`
}

// Group are machines that a set keeps.
type Group struct {
	Set      string `json:"set"`
	Zone     string `json:"zone,omitempty"`
	Rack     string `json:"rack,omitempty"`
	Template string `json:"template,omitempty"`
	Machines int    `json:"machines"`
	// From is when the machines are asked for. Those from the beginning are
	// Ready then.
	From metav1.Duration `json:"from,omitempty"`
}

// Kind is what goes wrong.
type Kind string

// The kinds.
const (
	// Silent: kubelets are not heard of. Their nodes turn Unknown after 40 s.
	Silent Kind = "silent"
	// NotReady: kubelets say so.
	NotReady Kind = "notready"
	// Gone: the cloud terminates instances, and their nodes are deleted.
	Gone Kind = "gone"
	// Barred: no node joins.
	Barred Kind = "barred"
	// Doomed: instances that are created meanwhile never join.
	Doomed Kind = "doomed"
	// Slow: instances that are made meanwhile take Boot to join.
	Slow Kind = "slow"
	// Blind: the controllers do not reach the API server either.
	Blind Kind = "blind"
)

var kinds = []Kind{Silent, NotReady, Gone, Barred, Doomed, Slow, Blind}

// Trouble is something that happens to the machines that match all that it
// names; to all where it names nothing.
type Trouble struct {
	Kind Kind            `json:"kind"`
	At   metav1.Duration `json:"at"`
	// For is how long after At it is over for all; zero: never.
	For metav1.Duration `json:"for,omitempty"`
	// Set, Zone, Rack and Template are those of the group. First is how many of
	// the set's machines of the beginning, Every takes each so-manieth machine.
	Set      string `json:"set,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Rack     string `json:"rack,omitempty"`
	Template string `json:"template,omitempty"`
	First    int    `json:"first,omitempty"`
	Every    int    `json:"every,omitempty"`
	// Stagger is how much later it reaches each next machine.
	Stagger metav1.Duration `json:"stagger,omitempty"`
	// Down and Up alternate as long as it lasts; Down zero: it is down all the
	// time.
	Down metav1.Duration `json:"down,omitempty"`
	Up   metav1.Duration `json:"up,omitempty"`
	// Boot is how long a slow instance takes to join.
	Boot metav1.Duration `json:"boot,omitempty"`
}

//go:embed outages/*.yaml
var files embed.FS

// All reads the outages that come with the package, by file name.
func All() (out []Outage, err error) {
	names, err := fs.Glob(files, "outages/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		o, err := Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		o.Name = strings.TrimSuffix(strings.TrimPrefix(name, "outages/"), ".yaml")
		out = append(out, o)
	}
	return out, nil
}

// Parse reads an outage. The error names the field that is wrong.
func Parse(raw []byte) (o Outage, err error) {
	if err := yaml.UnmarshalStrict(raw, &o); err != nil {
		return o, err
	}
	if o.Boot.Duration == 0 {
		o.Boot.Duration = 3 * time.Minute
	}
	var errs []error
	wrong := func(field, want string) { errs = append(errs, fmt.Errorf("%s: must be %s", field, want)) }
	if o.Title == "" {
		wrong("title", "a line for people")
	}
	if o.Lasts.Duration < tick {
		wrong("lasts", "a duration of "+tick.String()+" or more")
	}
	for i, g := range o.Fleet {
		if g.Set == "" || g.Machines <= 0 {
			wrong(fmt.Sprintf("fleet[%d]", i), "a set with machines")
		}
	}
	for i, t := range o.Troubles {
		field := fmt.Sprintf("troubles[%d].", i)
		if !slices.Contains(kinds, t.Kind) {
			wrong(field+"kind", fmt.Sprintf("one of %v, is %q", kinds, t.Kind))
		}
		if (t.Down.Duration > 0) != (t.Up.Duration > 0) {
			wrong(field+"up", "given together with down")
		}
	}
	return o, errors.Join(errs...)
}
