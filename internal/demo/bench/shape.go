package bench

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

//go:embed shapes/*.yaml
var shapes embed.FS

// shape has the objects of an API that the bench needs.
type shape struct {
	API string `json:"-"`
	// Sets is the number of sets over which the machines are spread; 0 for one.
	Sets      int    `json:"-"`
	Version   string `json:"-"`
	Namespace string `json:"namespace"`
	// Cluster is the cluster in the owner tags of the set's instances.
	Cluster string `json:"cluster"`
	// Set is the resource of the sets that are scaled. Prepare are the objects that the sets need, and a set with no
	// replicas.
	Set     struct{ Resource string } `json:"set"`
	Prepare []json.RawMessage         `json:"prepare"`
	// Roll is the deployment of a rolling update.
	Roll struct {
		Resource string
		// Prepare are the objects that it needs, and the deployment with no
		// replicas. Change is the patch that makes it replace its machines.
		Prepare []json.RawMessage
		Change  json.RawMessage
	} `json:"roll"`
	// Impatient is the patch with which the machines of a set fail soon after their nodes; empty for no patch.
	Impatient json.RawMessage `json:"impatient"`
	// Check is a MachineHealthCheck over all machines of the sets.
	Check json.RawMessage `json:"check"`
	// The bodies of the raw client's writes.
	Machine     body `json:"machine"`
	Known       body `json:"known"`
	Provisioned body `json:"provisioned"`
	Running     body `json:"running"`
	Node        body `json:"node"`
	Deleting    body `json:"deleting"`
	Cordon      body `json:"cordon"`
	Released    body `json:"released"`
}

// body is JSON in which NAME is replaced by the name of a machine.
type body json.RawMessage

// UnmarshalJSON keeps the text.
func (b *body) UnmarshalJSON(raw []byte) error {
	*b = bytes.Clone(raw)
	return nil
}

func (b body) of(name string) []byte { return bytes.ReplaceAll(b, []byte("NAME"), []byte(name)) }

var spreadField = regexp.MustCompile(`(?m)^ *bootSpread: BOOT_SPREAD\n`)

func shapeOf(api string, bootTime, bootSpread time.Duration) (*shape, error) {
	known, ok := apis.Of(api)
	if !ok {
		return nil, fmt.Errorf("unknown API %q: want %s", api, strings.Join(apis.Names(), " or "))
	}
	file := "shapes/" + known.Short + ".yaml"
	raw, err := shapes.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	raw = bytes.ReplaceAll(raw, []byte("BOOT_TIME"), []byte(bootTime.String()))
	if bootSpread == 0 { // earlier versions, which --bin may name, do not know this field
		raw = spreadField.ReplaceAll(raw, nil)
	}
	raw = bytes.ReplaceAll(raw, []byte("BOOT_SPREAD"), []byte(bootSpread.String()))
	s := &shape{API: known.Name, Version: known.Version}
	if err := yaml.UnmarshalStrict(raw, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return s, nil
}

// path is the path of a collection of the API.
func (s *shape) path(resource string) string {
	return "/apis/" + s.API + "/" + s.Version + "/namespaces/" + s.Namespace + "/" + resource
}

func (s *shape) machine(name string) string { return s.path("machines") + "/" + name }

// checks is the path of the health checks of the machines. Health checks belong to one
// API, whichever API the machines belong to.
func (s *shape) checks() string {
	var of schema.GroupVersion
	for _, api := range apis.All {
		if api.Checks != nil {
			of = api.Checks.Kind().GroupVersion()
		}
	}
	return "/apis/" + of.String() + "/namespaces/" + s.Namespace + "/machinehealthchecks"
}

func (s *shape) check() string { return s.checks() + "/bench" }
