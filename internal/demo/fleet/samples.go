package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/millwright-dev/millwright/examples"
)

// Samples are the files of the samples in [examples.FS], one for each API. A
// cloud without a spec for an API has none for it.
func (o CloudOptions) Samples() (files []string) {
	for _, file := range []string{"openshift-machineset.yaml", "gardener-machineset.yaml"} {
		if o.simulated() {
			file = path.Join(o.provider(), file)
		}
		if _, err := fs.Stat(examples.FS, file); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// SampleMachines is the number of machines of the samples, in all APIs
// together. There are fewer virtual machines, because they need more resources.
func (o CloudOptions) SampleMachines() int {
	if o.provider() == Libvirt {
		return len(o.Samples())
	}
	return 3 * len(o.Samples())
}

// ApplySamples creates the sample machine sets of the APIs. It does not change
// existing ones.
func (f *Fleet) ApplySamples(ctx context.Context) error {
	// The simulated cloud itself issues some objects, for example keys.
	issued, err := os.ReadFile(filepath.Join(CloudDir(f.Dir), "manifests.yaml"))
	if err == nil {
		err = f.Create(ctx, issued)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("apply the objects of the cloud: %w", err)
	}
	for _, file := range f.options.Cloud.Samples() {
		raw, err := examples.FS.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read example: %w", err)
		}
		if err := f.Create(ctx, raw); err != nil {
			return fmt.Errorf("apply example %s: %w", file, err)
		}
	}
	return nil
}

// Create creates the objects of a YAML file that do not exist.
func (f *Fleet) Create(ctx context.Context, manifests []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var o unstructured.Unstructured
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		if err := f.Client.Create(ctx, &o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
}
