package rehearsal

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"embed"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// manifests are written as the tools of each cloud write them. <cloud>-openshift.yaml is as the OpenShift installer writes it,
// with the secrets of its credentials operator. <cloud>-gardener.yaml is as the Gardener extension of the cloud renders a
// worker pool.
//
//go:embed testdata/accept
var manifests embed.FS

// foreign are the clouds that have such manifests.
var foreignClouds = []string{"alicloud", "aws", "azure", "gcp", "openstack", "vsphere"}

// TestAcceptAny: manifests of other tools run unchanged against a simulator with --accept-any. Its inventory has none of the
// names in the manifests: credentials, accounts, regions, images, networks, types.
func TestAcceptAny(t *testing.T) {
	for _, cloud := range foreignClouds {
		if !asked(*provider, cloud) {
			continue
		}
		t.Run(cloud, func(t *testing.T) {
			buildCloud(t, cloud)
			s := start(t, fleet.CloudOptions{Provider: cloud, AcceptAny: true})
			for _, api := range []string{"openshift", "gardener"} {
				if !asked(*chapters, api) {
					continue
				}
				began := time.Now()
				s.chapter = api
				s.applyAsWritten(cloud + "-" + api + ".yaml")
				s.rests()
				s.count()
				t.Logf("%-9s %5.1f s", api, time.Since(began).Seconds())
			}
			began := time.Now()
			s.chapter = "end"
			s.end()
			s.count()
			t.Logf("%-9s %5.1f s", s.chapter, time.Since(began).Seconds())
		})
	}
}

// applyAsWritten applies a file as `kubectl apply` does, after creating its namespaces, and remembers the pools in it.
func (s *story) applyAsWritten(file string) {
	s.t.Helper()
	raw, err := manifests.ReadFile("testdata/accept/" + file)
	if err != nil {
		s.t.Fatal(err)
	}
	raw = bytes.ReplaceAll(raw, []byte("PRIVATE_KEY"), s.privateKey())
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			s.t.Fatalf("%s: %v", file, err)
		}
		namespace := &corev1.Namespace{}
		namespace.Name = o.GetNamespace()
		if err := s.fleet.Client.Create(s.t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
			s.t.Fatal(err)
		}
		if replicas, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas"); ok {
			s.pools = append(s.pools, &pool{Unstructured: o.DeepCopy(), replicas: int(replicas.(float64))}) // JSON numbers are float64
		}
		err = s.fleet.Client.Create(s.t.Context(), o.DeepCopy())
		if apierrors.IsAlreadyExists(err) { // the user data of the fleet's own samples
			err = s.fleet.Client.Patch(s.t.Context(), o.DeepCopy(), client.Merge)
		}
		if err != nil {
			s.t.Fatalf("%s: apply %s %s: %v", file, o.GetKind(), o.GetName(), err)
		}
	}
}

// privateKey returns a private key for the file of a service account, as a part of a JSON text.
func (s *story) privateKey() []byte {
	s.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	if err != nil {
		s.t.Fatal(err)
	}
	return []byte(strings.Trim(string(text), `"`))
}
