// Command packages writes what users install from config/: millwright.yaml, install/ for a release of OpenShift, and charts/millwright.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/millwright-dev/millwright/hack/internal/packages"
)

func main() {
	out := flag.String("out", "dist/packages", "folder for the files; install/ and charts/ in it are replaced")
	flag.Parse()
	files, err := packages.Build(".")
	if err == nil {
		err = packages.Write(files, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}
