package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// pluginFile is the manifest with which krew installs the kubectl plugin. An index names it after the plugin.
const pluginFile = "machine.yaml"

// A plugin is krew's manifest, with the fields that are used here.
type plugin struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   metadata   `json:"metadata"`
	Spec       pluginSpec `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector selector   `json:"selector"`
	URI      string     `json:"uri"`
	SHA256   string     `json:"sha256"`
	Files    []fileCopy `json:"files"`
	Bin      string     `json:"bin"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type fileCopy struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const pluginDescription = `It answers questions about machines of machine.openshift.io and
machine.sapcloud.io, on any cluster that has one of the two APIs:
  kubectl machine why machine/NAME       why it is not ready, and what to do
  kubectl machine history machine/NAME   its requests, conditions and events
  kubectl machine plan machineset/NAME --replicas=1
                                         what a change would create and delete
  kubectl machine report                 what happened in the past day
  kubectl machine rollout status machinedeployment/NAME
  kubectl machine preflight              whether Millwright can take over
`

// krew writes the manifest of the kubectl plugin, with the checksums of the archives in the release.
func (r release) krew(platforms []platform) error {
	p := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: metadata{Name: strings.TrimSuffix(pluginFile, ".yaml")},
		Spec: pluginSpec{
			Version: r.version, Homepage: home,
			ShortDescription: "Explain, plan and roll machines",
			Description:      pluginDescription,
		},
	}
	for _, of := range platforms {
		name := of.archive(kubectlPlugin, r.version)
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		binary := of.file(kubectlPlugin)
		p.Spec.Platforms = append(p.Spec.Platforms, pluginPlatform{
			Selector: selector{map[string]string{"os": of.system, "arch": of.arch}},
			URI:      strings.TrimSuffix(r.url, "/") + "/" + r.version + "/" + name,
			SHA256:   fmt.Sprintf("%x", sha256.Sum256(content)),
			Files:    []fileCopy{{binary, "."}, {"LICENSE", "."}},
			Bin:      binary,
		})
	}
	content, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	return r.write(pluginFile, content)
}
