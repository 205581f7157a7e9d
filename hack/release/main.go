// Command release writes the files of a release: the images (with hack/image), manifests, the chart, the manifests of a
// component of OpenShift, the command line for each platform, and checksums. The output depends only on the sources and the
// version.
//
//	go run ./hack/release -out dist -version v1.2.3 -key minisign.key
//	go run ./hack/release -out dist -verify minisign.pub
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"aead.dev/minisign"

	"github.com/millwright-dev/millwright/hack/internal/archive"
	"github.com/millwright-dev/millwright/hack/internal/packages"
)

// home is the folder of the sources.
const home = "https://github.com/millwright-dev/millwright"

func main() {
	r := release{compile: compile, layout: layout}
	flag.StringVar(&r.out, "out", "dist", "folder for the files; those of a release before this one go")
	flag.StringVar(&r.version, "version", "", "version, as v1.2.3 or v1.2.3-rc.1")
	flag.StringVar(&r.image, "image", "millwright-controllers", "where the image is, without a tag, as manifests and the chart name it")
	providers := flag.String("providers", "", "clouds whose images there are besides, by comma: aws,gcp")
	flag.StringVar(&r.archs, "archs", "amd64,arm64", "architectures of the images, by comma")
	flag.StringVar(&r.url, "url", home+"/releases/download", "where releases are published: the archives of v1.2.3 are below v1.2.3")
	keyFile := flag.String("key", "", "file of minisign's private key, which signs the checksums; the default is the key that "+keyVariable+" has, and no signature without either")
	publicKey := flag.String("verify", "", "verify the release in the folder by this file of minisign's public key, and write nothing")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "platforms of the command lines, by comma")
	flag.Parse()
	r.platforms = strings.Split(*platforms, ",")
	if *providers != "" {
		r.providers = strings.Split(*providers, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.do(ctx, *keyFile, *publicKey); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// do verifies a release, or writes one.
func (r release) do(ctx context.Context, keyFile, publicKey string) error {
	if publicKey != "" {
		return verifyBy(publicKey, r.out)
	}
	var err error
	if r.key, err = signingKey(keyFile, os.Getenv); err != nil {
		return err
	}
	return r.run(ctx)
}

// release is one call, in the root of the repository.
type release struct {
	out, version, image  string
	archs, url           string
	platforms, providers []string
	// key signs the checksums; nil leaves them unsigned.
	key *minisign.PrivateKey
	// packages are the files that users install, by path.
	packages map[string]string
	// compile writes the program of a package for a platform into a file.
	compile func(ctx context.Context, r release, p platform, pkg, file string) error
	// layout writes the archive of the image of a package's program.
	layout func(ctx context.Context, r release, pkg string) error
}

var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func (r release) run(ctx context.Context) error {
	if !semantic.MatchString(r.version) {
		return fmt.Errorf("-version: want a semantic version as v1.2.3, got %q", r.version)
	}
	var platforms []platform
	for _, name := range r.platforms {
		p, err := parsePlatform(name)
		if err != nil {
			return err
		}
		platforms = append(platforms, p)
	}
	programs := []string{"./cmd/millwright-controllers"}
	for _, name := range r.providers {
		pkg, err := controllerOf(name)
		if err != nil {
			return err
		}
		programs = append(programs, pkg)
	}
	if err := errors.Join(os.MkdirAll(r.out, 0o755), forget(r.out)); err != nil {
		return err
	}
	var err error
	if r.packages, err = packages.Build("."); err != nil {
		return err
	}
	for _, step := range []func() error{r.manifests, r.install, r.chart} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, pkg := range programs {
		if err := r.layout(ctx, r, pkg); err != nil {
			return fmt.Errorf("image of %s: %w", pkg, err)
		}
	}
	for _, p := range platforms {
		for _, program := range p.programs() {
			if err := r.cli(ctx, p, program); err != nil {
				return fmt.Errorf("%s for %s: %w", program, p, err)
			}
		}
	}
	if err := r.krew(platforms); err != nil {
		return fmt.Errorf("%s: %w", pluginFile, err)
	}
	if err := sums(r.out); err != nil {
		return err
	}
	if r.key == nil {
		fmt.Printf("%s is not signed: neither -key nor %s names a key\n", sumsFile, keyVariable)
		return nil
	}
	return sign(r.out, r.version, *r.key)
}

// controllerOf returns the package of a cloud's machine controller, which is its own module.
func controllerOf(name string) (string, error) {
	pkg := fmt.Sprintf("./providers/%s/cloud/machine-controller-%[1]s", name)
	if info, err := os.Stat(pkg); err != nil || !info.IsDir() {
		return "", fmt.Errorf("-providers: want clouds as aws,gcp, got %q: there is no %s", name, pkg)
	}
	return pkg, nil
}

// write writes a file of the release, and prints its name.
func (r release) write(name string, content []byte) error {
	file := filepath.Join(r.out, name)
	fmt.Printf("%s: %d bytes\n", file, len(content))
	return os.WriteFile(file, content, 0o644)
}

// A platform is an operating system and an architecture, with the names of Go.
type platform struct{ system, arch string }

func (p platform) String() string { return p.system + "/" + p.arch }

func parsePlatform(name string) (platform, error) {
	system, arch, found := strings.Cut(name, "/")
	if !found || system == "" || arch == "" {
		return platform{}, fmt.Errorf("-platforms: want an operating system and an architecture as linux/amd64, got %q", name)
	}
	return platform{system, arch}, nil
}

// kubectlPlugin is the program that krew installs.
const kubectlPlugin = "kubectl-machine"

const windows = "windows"

// programs returns the command lines for the platform. millwright runs control planes with functions that Windows does not
// have.
func (p platform) programs() []string {
	if p.system == windows {
		return []string{kubectlPlugin}
	}
	return []string{kubectlPlugin, "millwright"}
}

// file returns the name of a program on the platform.
func (p platform) file(program string) string {
	if p.system == windows {
		return program + ".exe"
	}
	return program
}

// archive returns the name of the archive of a program: a zip for Windows, which unpacks no other format by itself.
func (p platform) archive(program, version string) string {
	suffix := ".tar.gz"
	if p.system == windows {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s", program, version, p.system, p.arch) + suffix
}

// cli packs a command line with the license.
func (r release) cli(ctx context.Context, p platform, program string) error {
	work, err := os.MkdirTemp("", "release-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	binary := filepath.Join(work, program)
	if err := r.compile(ctx, r, p, "./cmd/"+program, binary); err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	files := []archive.File{{Name: "LICENSE", Content: license, Mode: 0o644}, {Name: p.file(program), Content: content, Mode: 0o755}}
	pack := archive.TarGz
	if p.system == windows {
		pack = archive.Zip
	}
	packed, err := pack(files)
	if err != nil {
		return err
	}
	return r.write(p.archive(program, r.version), packed)
}

// compile compiles with the go command.
func compile(ctx context.Context, r release, p platform, pkg, file string) error {
	flags := "-s -w -buildid= -X github.com/millwright-dev/millwright/internal/runtime/version.release=" + r.version
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", flags, "-o", file, pkg)
	// GOFLAGS replaces the settings of the environment and of `go env`.
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.system, "GOARCH="+p.arch, "GOFLAGS=-buildvcs=auto")
	c.Stderr = os.Stderr
	return c.Run()
}

// layout builds the image with hack/image.
func layout(ctx context.Context, r release, pkg string) error {
	c := exec.CommandContext(ctx, "go", "run", "./hack/image", "-out", r.out, "-version", r.version, "-arch", r.archs, "-program", pkg)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}
