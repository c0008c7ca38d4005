//! A shop over rslock's acquire on one Redis, with as much of HTTP as an order needs.
use redis::AsyncCommands;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use rslock::LockManager;
use std::{env, error::Error, time::Duration};
use tokio::{io::{AsyncBufReadExt, AsyncWriteExt, BufReader}, net::{TcpListener, TcpStream}};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
struct Shop {
    locks: LockManager,
    redis: ConnectionManager,
}

impl Shop {
    async fn take_one(&mut self) -> Result<u16, Failure> {
        match self.redis.get("ProductStock_10000").await? {
            left @ 1.. => Ok(self.redis.set("ProductStock_10000", left - 1).await.map(|()| 200)?),
            _ => Ok(409),
        }
    }

    async fn sell(&mut self) -> Result<u16, Failure> {
        let locks = self.locks.clone();
        let acquire = locks.acquire("lock:product_10000", Duration::from_secs(2));
        let Ok(guard) = tokio::time::timeout(Duration::from_secs(5), acquire).await else { return Ok(423) };
        let guard = guard?;
        let status = self.take_one().await;
        guard.release().await;
        status
    }

    async fn serve(mut self, mut wire: TcpStream) -> Result<(), Failure> {
        let (read, mut write) = wire.split();
        let mut lines = BufReader::new(read).lines();
        while let Some(line) = lines.next_line().await? {
            if line.is_empty() {
                let status = self.sell().await.unwrap_or(500); // an order has no body, so its head ends it
                write.write_all(format!("HTTP/1.1 {status} .\r\nContent-Length: 0\r\n\r\n").as_bytes()).await?;
            }
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let url = env::var("REDIS_URL")?;
    let patient = ConnectionManagerConfig::new().set_response_timeout(Some(Duration::from_secs(5)));
    let redis = redis::Client::open(url.as_str())?.get_connection_manager_with_config(patient).await?;
    let shop = Shop { locks: LockManager::new(vec![url]), redis };
    let listener = TcpListener::bind(("127.0.0.1", env::var("PORT")?.parse()?)).await?;
    loop {
        let (wire, _) = listener.accept().await?;
        let shop = shop.clone();
        tokio::spawn(async move { shop.serve(wire).await.map_err(|failure| eprintln!("{failure}")) });
    }
}
