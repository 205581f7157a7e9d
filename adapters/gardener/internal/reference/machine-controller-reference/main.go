// Command machine-controller-reference serves the reference driver.
package main

import (
	"net/http"
	"time"

	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/adapters/gardener/serve"
)

func main() {
	habits := reference.Habits{Poll: time.Second, Removal: reference.Removal{Shows: time.Hour}}
	serve.Driver(&reference.Driver{HTTP: http.DefaultClient, Habits: habits}, serve.Name("reference"))
}
