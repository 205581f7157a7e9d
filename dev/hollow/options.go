package hollow

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
	utiltaints "k8s.io/kubernetes/pkg/util/taints"
)

// options are the command line of one hollow node.
type options struct {
	name                string
	kubeconfig          string
	bootstrapKubeconfig string
	rootDir             string
	providerID          string
	cloudProvider       string
	clientCAFile        string

	address string
	port    int32
	nodeIP  string

	cores   int
	memory  string
	maxPods int32

	resources map[string]string

	labels map[string]string
	taints []string

	// Set by complete.
	memoryBytes  uint64
	further      further
	parsedTaints []v1.Taint
}

func parseOptions(args []string) (*options, error) {
	o := &options{labels: map[string]string{}, resources: map[string]string{}}
	flags := pflag.NewFlagSet("hollow", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if extra := flags.Args(); len(extra) > 0 {
		return nil, fmt.Errorf("unexpected arguments: %q", extra)
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.name, "name", "", "name of the node")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "where the kubelet keeps its own kubeconfig (default: kubeconfig below the root folder)")
	flags.StringVar(&o.bootstrapKubeconfig, "bootstrap-kubeconfig", "", "kubeconfig with the bootstrap token, used until --kubeconfig exists")
	flags.StringVar(&o.rootDir, "root-dir", "", "the only folder this process writes to")
	flags.StringVar(&o.providerID, "provider-id", "", "spec.providerID of the node")
	flags.StringVar(&o.cloudProvider, "cloud-provider", "", "\"external\" leaves addresses and the uninitialized taint to a cloud controller")
	flags.StringVar(&o.clientCAFile, "client-ca-file", "", "CA of the clients that may call this kubelet")
	flags.StringVar(&o.address, "address", "127.0.0.1", "address the kubelet's server listens on")
	flags.Int32Var(&o.port, "port", 0, "port of the kubelet's server; 0 chooses a free one")
	flags.StringVar(&o.nodeIP, "node-ip", "", "internal IP of the node, not loopback (default: an address of this machine)")
	flags.IntVar(&o.cores, "cores", 4, "CPU capacity in cores")
	flags.StringVar(&o.memory, "memory", "16Gi", "memory capacity as a quantity or in bytes")
	flags.Int32Var(&o.maxPods, "max-pods", 110, "pod capacity")
	resources := cliflag.ConfigurationMap(o.resources)
	flags.Var(&resources, "resources", "further capacity: hugepages-2Mi=1Gi,ephemeral-storage=10Gi,example.com/device=2,...")
	labels := cliflag.ConfigurationMap(o.labels)
	flags.Var(&labels, "node-labels", "labels the node registers with: key=value,...")
	flags.StringSliceVar(&o.taints, "register-with-taints", nil, "taints the node registers with: key=value:effect,...")

	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlagSet(logging)
}

// complete validates the options and sets those that can be derived.
func (o *options) complete() error {
	if o.name == "" || o.rootDir == "" {
		return errors.New("--name and --root-dir are required")
	}
	root, err := filepath.Abs(o.rootDir)
	if err != nil {
		return fmt.Errorf("--root-dir: %w", err)
	}
	o.rootDir = root
	if o.kubeconfig == "" {
		o.kubeconfig = filepath.Join(root, "kubeconfig")
	}
	if err := o.absolutePaths(); err != nil {
		return err
	}
	if o.cores < 1 {
		return fmt.Errorf("--cores=%d: must be at least 1", o.cores)
	}
	memory, err := resource.ParseQuantity(o.memory)
	if err != nil {
		return fmt.Errorf("--memory=%q: %w", o.memory, err)
	}
	if memory.Sign() <= 0 {
		return fmt.Errorf("--memory=%q: must be positive", o.memory)
	}
	o.memoryBytes = uint64(memory.Value())
	if o.further, err = parseResources(o.resources); err != nil {
		return err
	}
	if len(o.taints) == 0 {
		return nil
	}
	o.parsedTaints, _, err = utiltaints.ParseTaints(o.taints)
	if err != nil {
		return fmt.Errorf("--register-with-taints: %w", err)
	}
	return nil
}

// absolutePaths makes every path independent of the working folder, which prepareRoot may change.
func (o *options) absolutePaths() error {
	for _, path := range []*string{&o.kubeconfig, &o.bootstrapKubeconfig, &o.clientCAFile} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("making %q absolute: %w", *path, err)
		}
		*path = absolute
	}
	return nil
}
