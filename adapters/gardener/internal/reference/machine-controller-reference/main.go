// Command machine-controller-reference serves the reference driver.
package main

import (
	"net/http"
	"time"

	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/adapters/gardener/serve"
)

func main() {
	serve.Driver(&reference.Driver{HTTP: http.DefaultClient, Habits: reference.Habits{Poll: time.Second}}, serve.Name("reference"))
}
