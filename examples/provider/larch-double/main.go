// Command larch-double simulates Larch. Its argument is the address, by default 127.0.0.1:8099. The token is "secret".
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"example.org/larch/double"
)

func main() {
	address := "127.0.0.1:8099"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	cloud := double.New(time.Now)
	cloud.Lagging = 5 * time.Second
	log.Fatal(http.ListenAndServe(address, cloud))
}
