package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
)

// target is a vCenter, and the user to log in.
type target struct {
	server, user, password string
	insecure               bool
	caBundle               []byte
}

// key identifies the client of a target.
func (t target) key() provider.ClientKey {
	credentials := map[string][]byte{"user": []byte(t.user), "password": []byte(t.password)}
	return provider.KeyOf(credentials, t.server, "", fmt.Append(nil, t.insecure), t.caBundle)
}

// clusterConfig has the cluster's settings of its vCenters, beside specs and credentials.
type clusterConfig struct {
	// servers are the names of its vCenters.
	servers []string
	// region and zone are categories of tags, domains are the known failure domains.
	region, zone string
	domains      []domain
	port         string
	insecure     bool
	caBundle     []byte
}

// source identifies a site.
func (s clusterConfig) source() provider.ClientKey {
	return provider.KeyOf(nil, strings.Join(s.servers, ","), s.region+"/"+s.zone, []byte(s.port), fmt.Append(nil, s.insecure), s.caBundle)
}

// clusterConfigOf reads the Infrastructure and the configuration of the cloud provider that it names. Clusters other
// than OpenShift's have neither.
func clusterConfigOf(ctx context.Context, objects provider.Objects) (s clusterConfig, err error) {
	infra, err := infrastructure.Read(ctx, objects)
	if err != nil || infra == nil {
		return s, err
	}
	s.ofPlatform(infra.Spec.PlatformSpec.VSphere)
	if s.caBundle, err = infrastructure.CloudCABundle(ctx, objects); err != nil {
		return s, err
	}
	if infra.Spec.CloudConfig.Name == "" {
		return s, nil
	}
	text, err := cloudConfig(ctx, objects, infra.Spec.CloudConfig)
	if err != nil {
		return s, err
	}
	s.ofCloudConfig(text)
	return s, nil
}

// ofPlatform adds the vCenters. With failure domains, the installer has created the categories of these
// names.
func (s *clusterConfig) ofPlatform(p *configv1.VSpherePlatformSpec) {
	if p == nil {
		return
	}
	for _, v := range p.VCenters {
		s.servers = append(s.servers, v.Server)
	}
	if len(p.FailureDomains) > 0 {
		s.region, s.zone = categoryRegion, categoryZone
	}
	for _, d := range p.FailureDomains {
		s.domains = append(s.domains, newDomain(d))
	}
}

func cloudConfig(ctx context.Context, objects provider.Objects, ref configv1.ConfigMapFileReference) (string, error) {
	raw, err := objects.Object(ctx, provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "openshift-config", Name: ref.Name})
	if errors.Is(err, provider.ErrNoObject) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var m corev1.ConfigMap
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", fmt.Errorf("read ConfigMap %s: %w", ref.Name, err)
	}
	return m.Data[cmp.Or(ref.Key, "config")], nil
}

// ofCloudConfig adds the configuration of the cloud provider: in YAML or, in older clusters, in sections.
func (s *clusterConfig) ofCloudConfig(text string) {
	var said struct {
		Global struct {
			Port         json.Number `json:"port"`
			InsecureFlag bool        `json:"insecureFlag"`
		} `json:"global"`
		Labels struct {
			Region string `json:"region"`
			Zone   string `json:"zone"`
		} `json:"labels"`
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") || yaml.Unmarshal([]byte(text), &said) != nil {
		sections := parseSections(text)
		said.Global.Port = json.Number(sections["global.port"])
		said.Global.InsecureFlag = slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(sections["global.insecure-flag"]))
		said.Labels.Region, said.Labels.Zone = sections["labels.region"], sections["labels.zone"]
	}
	s.port, s.insecure = said.Global.Port.String(), said.Global.InsecureFlag
	s.region, s.zone = cmp.Or(said.Labels.Region, s.region), cmp.Or(said.Labels.Zone, s.zone)
}

// parseSections reads sections with their names in brackets, and lines of a key, "=" and a value, in quotes or
// without, in any case.
func parseSections(text string) map[string]string {
	all, section := map[string]string{}, ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = strings.ToLower(strings.Trim(line, "[]"))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		all[section+"."+strings.ToLower(strings.TrimSpace(key))] = strings.Trim(strings.TrimSpace(value), `"`)
	}
	return all
}

// targetOf is the vCenter of a class's instances, with the matching credentials. A class that has lost its
// spec still has its credentials.
func targetOf(class provider.Class, server string, s clusterConfig) (target, error) {
	if host := class.Credentials["vsphereHost"]; class.API == provider.Gardener || server == "" && len(host) > 0 {
		return targetOfGardener(class.Credentials, s)
	}
	if server == "" {
		var err error
		if server, err = onlyServer(class.Credentials, s); err != nil {
			return target{}, err
		}
	}
	t := target{server: server, insecure: s.insecure, caBundle: s.caBundle}
	if _, _, err := net.SplitHostPort(server); err != nil && s.port != "" && s.port != "443" && !strings.Contains(server, "://") {
		t.server = net.JoinHostPort(server, s.port)
	}
	for _, name := range namesOf(server) {
		user, ok := class.Credentials[name+".username"]
		if !ok {
			continue
		}
		t.user, t.password = string(user), string(class.Credentials[name+".password"])
		return t, t.check(name+".username", name+".password")
	}
	return t, provider.Errorf(provider.Denied, "the credentials have no key %q", server+".username")
}

// namesOf are the names that a server may have in the keys of a secret, which have no colons.
func namesOf(server string) []string {
	bare := server[strings.LastIndexByte(server, '/')+1:]
	names := []string{server, bare, strings.ReplaceAll(bare, ":", "_")}
	if host, _, err := net.SplitHostPort(bare); err == nil {
		names = append(names, host)
	}
	return names
}

func targetOfGardener(credentials map[string][]byte, s clusterConfig) (target, error) {
	insecure := strings.ToLower(string(credentials["vsphereInsecureSSL"]))
	t := target{
		server: string(credentials["vsphereHost"]), user: string(credentials["vsphereUsername"]), password: string(credentials["vspherePassword"]),
		insecure: insecure == "true" || insecure == "1", caBundle: append(slices.Clone(s.caBundle), credentials["vsphereCABundle"]...),
	}
	if t.server == "" {
		return t, provider.Errorf(provider.Denied, "the credentials have no key %q", "vsphereHost")
	}
	return t, t.check("vsphereUsername", "vspherePassword")
}

func (t target) check(user, password string) error {
	switch {
	case t.user == "":
		return provider.Errorf(provider.Denied, "the credentials have no key %q, or it is empty", user)
	case t.password == "":
		return provider.Errorf(provider.Denied, "the credentials have no key %q, or it is empty", password)
	}
	return nil
}

// onlyServer is the only server in the credentials or the cluster.
func onlyServer(credentials map[string][]byte, s clusterConfig) (string, error) {
	var all []string
	for key := range credentials {
		if server, ok := strings.CutSuffix(key, ".username"); ok {
			all = append(all, server)
		}
	}
	if len(all) != 1 {
		all = s.servers
	}
	if len(all) != 1 {
		return "", provider.Errorf(provider.Invalid, "the class has no spec, and credentials and Infrastructure name %d vCenters", len(all))
	}
	return all[0], nil
}
