package kubemark

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/hollow"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/kwok"
)

// Config is the configuration that all classes of one provider share. The zero Config uses the "memory" back
// end, and its instances end with the process.
type Config struct {
	// Dir is the directory of the instances. It is created if missing, and shared by all providers with the
	// same Dir. Empty: instances are in memory.
	Dir string
	// Backend is the default back end of specs. Default: "hollow" if Dir and HollowBinary are set, else
	// "memory".
	Backend string
	// HollowBinary is the program of the "hollow" back end, a path or a name in $PATH; HollowArgs precede the
	// flags that the provider adds.
	HollowBinary string
	HollowArgs   []string
	// NodeIP is the address of hollow nodes. Default: this machine's first
	// IPv4 address that is neither loopback nor link-local.
	NodeIP string
	// Target is the cluster in which the "kwok" back end creates Nodes.
	Target *rest.Config
	// Hooks are called by the "memory" back end.
	Hooks Hooks
	// Clock is the clock. Default: the real one.
	Clock clock.Clock
	// MetadataAddress is where ServeMetadata listens; empty: it does not listen.
	MetadataAddress string
	// PageSize is the number of machines that List reads at once. Default: 500.
	PageSize int
}

const defaultPageSize = 500

// AddFlags adds the flags of the provider binary. Their defaults are the values in Config.
func (c *Config) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Dir, "kubemark-dir", c.Dir,
		"Directory that stores the instances. Empty stores them in memory: they end with the process.")
	fs.StringVar(&c.Backend, "kubemark-backend", c.Backend,
		`Back end of provider specs that name none: "hollow", "kwok" or "memory".`)
	fs.StringVar(&c.HollowBinary, "hollow-binary", c.HollowBinary,
		"Program of the hollow back end: path, or name in $PATH.")
	fs.StringSliceVar(&c.HollowArgs, "hollow-args", c.HollowArgs,
		"Arguments of the hollow program that come before those of the instance.")
	fs.StringVar(&c.NodeIP, "hollow-node-ip", c.NodeIP,
		"Address of hollow nodes, not loopback. Empty chooses this machine's first IPv4 address.")
	fs.StringVar(&c.MetadataAddress, "kubemark-metadata-address", c.MetadataAddress,
		"Address (host:port) of the metadata services of instances. Any client that reaches it can request interruptions. Empty: it is not served.")
}

// complete sets defaults.
func (c Config) complete() Config {
	if c.Backend == "" && c.Dir != "" && c.HollowBinary != "" {
		c.Backend = Hollow
	}
	c.Backend = cmp.Or(c.Backend, Memory)
	c.PageSize = cmp.Or(c.PageSize, defaultPageSize)
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}

func (c Config) store() (cloud.Store, error) {
	if c.Dir == "" {
		return cloud.NewMemory(), nil
	}
	return cloud.NewDirectory(c.Dir)
}

// bodies returns the available back ends, and what the others lack.
func (c Config) bodies() (have map[string]cloud.Body, missing map[string]error) {
	have, missing = map[string]cloud.Body{Memory: hooked{c.Hooks}}, map[string]error{}
	if b, err := c.hollowBody(); err != nil {
		missing[Hollow] = err
	} else {
		have[Hollow] = b
	}
	if b, err := c.kwokBody(); err != nil {
		missing[Kwok] = err
	} else {
		have[Kwok] = b
	}
	return have, missing
}

func (c Config) hollowBody() (cloud.Body, error) {
	switch {
	case c.HollowBinary == "":
		return nil, errors.New("no program is configured (--hollow-binary)")
	case c.Dir == "":
		return nil, errors.New("no directory is configured (--kubemark-dir)")
	case c.NodeIP == "":
		return nil, errors.New("this machine has no IPv4 address besides loopback and link-local ones, and none is configured (--hollow-node-ip)")
	}
	path, err := exec.LookPath(c.HollowBinary)
	if err != nil {
		return nil, fmt.Errorf("find the hollow program: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find the hollow program: %w", err)
	}
	return &hollow.Body{
		Command: append([]string{path}, c.HollowArgs...),
		Dir:     filepath.Join(c.Dir, "bodies"),
		Clock:   c.Clock,
	}, nil
}

func (c Config) kwokBody() (cloud.Body, error) {
	if c.Target == nil {
		return nil, errors.New("no target cluster is configured")
	}
	return kwok.New(c.Target)
}

// hostIP is this machine's first IPv4 address that a kubelet would register with; empty: it has no such
// address.
func hostIP() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}
