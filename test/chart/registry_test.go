package chart

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	server "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/registry"
)

// TestRegistry: Helm pushes the chart's archive to a registry as an OCI artefact, and pulls the same bytes from there.
func TestRegistry(t *testing.T) {
	web := httptest.NewServer(server.New(server.Logger(log.New(io.Discard, "", 0))))
	defer web.Close()
	repository := "oci://" + strings.TrimPrefix(web.URL, "http://") + "/charts"
	client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard), registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none")))
	if err != nil {
		t.Fatal(err)
	}
	c := loaded(t)
	archive, err := chartutil.Save(c, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	helm := &action.Configuration{Log: t.Logf, RegistryClient: client}
	push := action.NewPushWithOpts(action.WithPushConfig(helm), action.WithPlainHTTP(true), action.WithPushOptWriter(io.Discard))
	push.Settings = cli.New()
	if _, err := push.Run(archive, repository); err != nil {
		t.Fatal(err)
	}

	pull := action.NewPullWithOpts(action.WithConfig(helm))
	pull.Settings, pull.DestDir, pull.PlainHTTP, pull.Version = cli.New(), t.TempDir(), true, c.Metadata.Version
	pull.SetRegistryClient(client)
	if _, err := pull.Run(repository + "/millwright"); err != nil {
		t.Fatal(err)
	}
	pushed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	pulled := filepath.Join(pull.DestDir, filepath.Base(archive))
	if got, err := os.ReadFile(pulled); err != nil || !bytes.Equal(got, pushed) {
		t.Errorf("the archive from the registry is another one: %v", err)
	}
	again, err := loader.Load(pulled)
	if err != nil || again.Metadata.Version != c.Metadata.Version || len(again.Templates) != len(c.Templates) {
		t.Errorf("%+v, %v", again, err)
	}

	missing := action.NewPullWithOpts(action.WithConfig(helm))
	missing.Settings, missing.DestDir, missing.PlainHTTP, missing.Version = cli.New(), t.TempDir(), true, "9.9.9"
	missing.SetRegistryClient(client)
	if _, err := missing.Run(repository + "/millwright"); err == nil {
		t.Error("a version that was never pushed can be pulled")
	}
}
