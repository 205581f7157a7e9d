package operands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The keys of the images file that every platform needs.
const (
	ownImage       = "machineAPIOperator"
	rbacProxyImage = "kubeRBACProxy"
)

// kubemarkImage is what the platform "kubemark" has run ever since.
const kubemarkImage = "docker.io/gofed/kubemark-machine-controllers:v1.0"

// A FaultError is invalid input, which a user has to fix. Its text names the field.
type FaultError struct{ text string }

// Error implements error.
func (f *FaultError) Error() string { return f.text }

// Faultf returns a fault.
func Faultf(format string, args ...any) error { return &FaultError{fmt.Sprintf(format, args...)} }

// Images are the images of programs, by the keys of the images file (images.json).
type Images map[string]string

// ParseImages reads the images file. It ignores unknown keys, because releases add some; source names the
// file in errors.
func ParseImages(source string, raw []byte) (Images, error) {
	var out Images
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, Faultf("images file %s: want an object of texts: %v", source, err)
	}
	for _, key := range []string{ownImage, rbacProxyImage} {
		if strings.TrimSpace(out[key]) == "" {
			return nil, Faultf("images file %s: key %q is required and has no image", source, key)
		}
	}
	return out, nil
}

// A Platform is the type of an infrastructure, as Infrastructure objects spell it.
type Platform struct {
	name string
	// key is the key of its provider's image; empty: no machines are managed there.
	key string
	// workers is --max-concurrent-reconciles of its machine controller; 0: not set.
	workers int
	// interruptible: the cloud reclaims instances, and reports that on the node.
	interruptible bool
}

// platforms are all that Infrastructure objects may name, and kubemark.
var platforms = []Platform{
	{name: "AWS", key: "clusterAPIControllerAWS", interruptible: true},
	{name: "Azure", key: "clusterAPIControllerAzure", workers: 10, interruptible: true},
	{name: "GCP", key: "clusterAPIControllerGCP", workers: 10, interruptible: true},
	{name: "BareMetal", key: "clusterAPIControllerBareMetal"},
	{name: "IBMCloud", key: "clusterAPIControllerIBMCloud"},
	{name: "Nutanix", key: "clusterAPIControllerNutanix"},
	{name: "OpenStack", key: "clusterAPIControllerOpenStack"},
	{name: "PowerVS", key: "clusterAPIControllerPowerVS"},
	{name: "VSphere", key: "clusterAPIControllerVSphere"},
	{name: kubemark},
	{name: "None"},
	{name: "External"},
	{name: "Libvirt"},
	{name: "oVirt"},
	{name: "KubeVirt"},
	{name: "EquinixMetal"},
	{name: "AlibabaCloud"},
}

const (
	kubemark  = "kubemark"
	bareMetal = "BareMetal"
	vSphere   = "VSphere"
)

// PlatformOf is the platform with that name.
func PlatformOf(name string) (Platform, error) {
	i := slices.IndexFunc(platforms, func(p Platform) bool { return p.name == name })
	if i >= 0 {
		return platforms[i], nil
	}
	var names []string
	for _, p := range platforms {
		names = append(names, p.name)
	}
	return Platform{}, Faultf("platform %q is not known: want one of %s", name, strings.Join(names, ", "))
}

// Name is as Infrastructure objects spell it.
func (p Platform) Name() string { return p.name }

// NoOp reports whether no machines are managed there, so that there are no operands.
func (p Platform) NoOp() bool { return p.key == "" && p.name != kubemark }

// image is its provider's image.
func (p Platform) image(from Images) (string, error) {
	if p.name == kubemark {
		return kubemarkImage, nil
	}
	if image := strings.TrimSpace(from[p.key]); image != "" {
		return image, nil
	}
	return "", Faultf("images file: key %q is required on %s and has no image", p.key, p.name)
}
